//! The required shape of a route's body, from the contract's schemas: types, limits, names.

/// Form of a JSON value.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// True if null is allowed.
    pub nullable: bool,
    /// Kinds of values allowed.
    pub what: What,
}

/// The kinds of values. Limits are inclusive; lengths are code points, or items.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// `true` or `false`.
    Boolean,
    /// A string.
    Text {
        /// Least length.
        min: f64,
        /// Greatest length.
        max: f64,
    },
    /// A number.
    Number {
        /// True if it must be a whole number.
        whole: bool,
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
    },
    /// One of several ASCII words.
    Word(Vec<String>),
    /// An array.
    List {
        /// Form of its items.
        items: Box<Shape>,
        /// Least number of items.
        min: f64,
        /// Greatest number of items.
        max: f64,
    },
    /// An object with any names whose values have one form: strings of any length, numbers, or objects.
    Map(Box<Shape>),
    /// An object with known members.
    Object(Vec<Member>),
    /// The first of these with the value's JSON type; if there is none, the first of all applies.
    OneOf(Vec<Shape>),
}

/// A known member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name, in ASCII.
    pub name: String,
    /// True if it is required.
    pub required: bool,
    /// Its form.
    pub shape: Shape,
}

impl Shape {
    /// Parses a shape from words: its kind, `null` or `-`, then its limits, words or parts in the order of
    /// [`What`]; lists of these begin with their length. `None` if the words are not a shape.
    pub fn read<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Shape> {
        let kind = words.next()?;
        let nullable = words.next()? == "null";
        let what = match kind {
            "boolean" => What::Boolean,
            "string" => What::Text {
                min: number(words)?,
                max: number(words)?,
            },
            "integer" | "number" => What::Number {
                whole: kind == "integer",
                min: number(words)?,
                max: number(words)?,
            },
            "literal" => What::Word(
                (0..count(words)?)
                    .map(|_| words.next().map(str::to_owned))
                    .collect::<Option<_>>()?,
            ),
            "list" => What::List {
                min: number(words)?,
                max: number(words)?,
                items: Box::new(Shape::read(words)?),
            },
            "map" => What::Map(Box::new(Shape::read(words)?)),
            "union" => What::OneOf(
                (0..count(words)?)
                    .map(|_| Shape::read(words))
                    .collect::<Option<_>>()?,
            ),
            "object" => What::Object((0..count(words)?).map(|_| member(words)).collect::<Option<_>>()?),
            _ => return None,
        };
        Some(Shape { nullable, what })
    }
}

impl What {
    /// True if a value with this first byte is of this kind's JSON type.
    pub fn begins_with(&self, first: Option<u8>) -> bool {
        match self {
            What::Boolean => matches!(first, Some(b't' | b'f')),
            What::Text { .. } => first == Some(b'"'),
            What::Number { whole, .. } => !whole && matches!(first, Some(b'-' | b'0'..=b'9')),
            What::List { .. } => first == Some(b'['),
            What::Map(_) | What::Object(_) => first == Some(b'{'),
            What::Word(_) | What::OneOf(_) => false,
        }
    }
}

fn member<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Member> {
    Some(Member {
        name: words.next()?.to_owned(),
        required: words.next()? == "required",
        shape: Shape::read(words)?,
    })
}

fn number<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<f64> {
    words.next()?.parse().ok()
}

fn count<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<usize> {
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_byte_tells_the_kind_of_a_value() {
        let number = |whole| What::Number {
            whole,
            min: 0.0,
            max: 1.0,
        };
        let list = What::List {
            items: Box::new(Shape {
                nullable: false,
                what: What::Boolean,
            }),
            min: 0.0,
            max: 1.0,
        };
        let kinds = [
            (What::Boolean, "tf"),
            (What::Text { min: 0.0, max: 1.0 }, "\""),
            (number(false), "-0123456789"),
            // Only the value shows that it is whole.
            (number(true), ""),
            (list, "["),
            (What::Object(Vec::new()), "{"),
            (What::Word(Vec::new()), ""),
        ];
        for (what, firsts) in kinds {
            for first in 0..=u8::MAX {
                assert_eq!(what.begins_with(Some(first)), firsts.as_bytes().contains(&first));
            }
            assert!(!what.begins_with(None));
        }
    }
}
