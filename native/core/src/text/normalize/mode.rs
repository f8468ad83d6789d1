//! How items with a gloss are treated, by the names that requests have for it.

/// Treatment of items with a gloss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The gloss follows in parentheses.
    Augment,
    /// The gloss replaces the item.
    Replace,
    /// Nothing is glossed.
    Repair,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 3] = [Mode::Augment, Mode::Replace, Mode::Repair];

    /// The mode with this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Its name in requests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::Augment => "augment",
            Mode::Replace => "replace",
            Mode::Repair => "repair",
        }
    }
}
