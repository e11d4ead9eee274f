/* a comment
   of two lines */ const object = {
  method() {
    return undefined.property;
  },
};
object.method()
