# A dependency of the script engine fetches the header library SIMDe with git when it is built. Where the system has it
# (Debian's libsimde-dev), that is used instead, so that a build needs nothing but the package registry.
if(EXISTS "/usr/include/simde/simde-common.h")
  set(FETCHCONTENT_SOURCE_DIR_SIMDE "/usr/include" CACHE PATH "" FORCE)
endif()
