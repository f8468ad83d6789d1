//! The shape that a route's body has to have, as the contract's schemas say it: types, bounds, names.

/// Form of a JSON value.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// True if null fits.
    pub nullable: bool,
    /// Kinds of values that fit.
    pub what: What,
}

/// The kinds of values. Bounds are inclusive; lengths are code points, or items.
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
        /// True if it must be whole.
        whole: bool,
        /// Least value.
        min: f64,
        /// Greatest value.
        max: f64,
    },
    /// One of some words of ASCII.
    Word(Vec<String>),
    /// An array.
    List {
        /// Form of its items.
        items: Box<Shape>,
        /// Least count of them.
        min: f64,
        /// Greatest count of them.
        max: f64,
    },
    /// An object of any names whose values have one form: strings of any length, numbers, or objects.
    Map(Box<Shape>),
    /// An object of known members.
    Object(Vec<Member>),
    /// The first of these that is of the value's own JSON type; a value of no such type is checked by the
    /// first.
    OneOf(Vec<Shape>),
}

/// A known member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its name, in ASCII.
    pub name: String,
    /// True if it must be there.
    pub required: bool,
    /// Its form.
    pub shape: Shape,
}

impl Shape {
    /// Reads a shape out of words: its kind, `null` or `-`, then its bounds, words or parts in the order of
    /// [`What`]; lists of them begin with their count. Nothing where the words are no shape.
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
    /// True if a value that begins with `first` is of this kind's JSON type.
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
