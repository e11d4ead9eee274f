//! Enums of which the protocol writes the variant as the name of a field.

/// Makes an enum, and reads and writes its variants as entries of an object.
macro_rules! one_of {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident($payload:ty) = $key:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $($(#[$variant_doc])* $variant($payload)),+
        }

        impl $name {
            /// The name of every variant on the wire.
            pub const NAMES: &[&str] = &[$($key),+];

            /// The name of this variant on the wire.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $key),+
                }
            }

            /// Writes the one entry that this is.
            fn write_entry<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self {
                    $(Self::$variant(payload) => map.serialize_entry($key, payload)),+
                }
            }

            /// Reads the value of a field that has one of the [names](Self::NAMES). An explicit null is no value; of any
            /// other field the value is left alone.
            fn read_entry<'de, A: serde::de::MapAccess<'de>>(
                name: &str,
                map: &mut A,
            ) -> Result<Entry<Self>, A::Error> {
                Ok(match name {
                    $($key => match map.next_value::<Option<$payload>>()? {
                        Some(payload) => Entry::Value(Self::$variant(payload)),
                        None => Entry::Null,
                    },)+
                    _ => Entry::Foreign,
                })
            }
        }
    };
}

/// What a field of an object is to a [`one_of`] enum.
pub(super) enum Entry<T> {
    /// One of its variants.
    Value(T),
    /// A variant's name without a value.
    Null,
    /// Another field, whose value is still to be read.
    Foreign,
}

/// Puts a variant where none was yet.
pub(super) fn only<T, E: serde::de::Error>(slot: &mut Option<T>, value: T, what: &str) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::custom(format_args!("more than one {what}"))),
    }
}

pub(super) use one_of;
