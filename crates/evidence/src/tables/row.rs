//! What makes a struct a row: named columns in an order.

use std::borrow::Cow;

use crate::tables::field::Kind;

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
}

/// An entry that does not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrongField {
    /// The column's place in [`Row::COLUMNS`].
    pub column: usize,
    /// What is wrong, continuing "`text` in column `name` ...".
    pub problem: String,
}

/// A row of a table.
pub trait Row: Sized {
    /// Its columns, in the order they are written.
    const COLUMNS: &'static [Column];

    /// Columns that tables of earlier versions lack; they read as empty.
    const NEWER: &'static [&'static str];

    /// Columns that tables of earlier versions call otherwise: the name, and the former one.
    const RENAMED: &'static [(&'static str, &'static str)];

    /// The entries' texts; `None` for an empty place.
    fn fields(&self) -> Vec<Option<Cow<'_, str>>>;

    /// Reads a row from its texts, in the order of the columns.
    fn read(fields: &[&str]) -> Result<Self, WrongField>;
}

/// Makes a struct a [`Row`] whose columns are its fields; `newer` names those that old tables lack,
/// `formerly` those that they call otherwise.
macro_rules! row {
    (
        $(#[$about:meta])*
        $name:ident $(newer [$($newer:ident),*])? $(formerly [$($now:ident = $former:ident),*])? {
            $($(#[$doc:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Debug)]
        #[allow(missing_docs, reason = "most columns say by their names what they hold")]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $crate::tables::row::Row for $name {
            const COLUMNS: &'static [$crate::tables::row::Column] = &[
                $($crate::tables::row::Column {
                    name: stringify!($field),
                    kind: <$type as $crate::tables::field::Field>::KIND,
                },)*
            ];

            const NEWER: &'static [&'static str] = &[$($(stringify!($newer)),*)?];

            const RENAMED: &'static [(&'static str, &'static str)] =
                &[$($((stringify!($now), stringify!($former))),*)?];

            fn fields(&self) -> Vec<Option<std::borrow::Cow<'_, str>>> {
                vec![$($crate::tables::field::Field::write(&self.$field)),*]
            }

            fn read(fields: &[&str]) -> Result<Self, $crate::tables::row::WrongField> {
                let mut texts = fields.iter().enumerate();
                // Fields of a struct expression are evaluated in the order they are written.
                Ok(Self {
                    $($field: {
                        let (column, text) = texts.next().unwrap_or((0, &""));
                        $crate::tables::field::Field::read(text)
                            .map_err(|problem| $crate::tables::row::WrongField { column, problem })?
                    },)*
                })
            }
        }
    };
}

pub(crate) use row;
