//! A recipe: how much of each base makes a colour.

use std::fmt;

/// Millilitres of each base for one litre of paint.
#[derive(Debug, PartialEq, Eq)]
pub struct Recipe {
    pub red: u32,
    pub green: u32,
    pub blue: u32,
    pub white: u32,
}

impl Recipe {
    /// The recipe of a colour given as six hex digits.
    pub fn parse(colour: &str) -> Option<Recipe> {
        let digits = colour.trim_start_matches('#');
        if digits.len() != 6 {
            return None;
        }
        let value = u32::from_str_radix(digits, 16).ok()?;
        let share = |shift: u32| (value >> shift & 0xff) * 1000 / (3 * 255);
        let (red, green, blue) = (share(16), share(8), share(0));
        Some(Recipe { red, green, blue, white: 1000 - red - green - blue })
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "red {} ml, green {} ml, blue {} ml, white {} ml", self.red, self.green, self.blue, self.white)
    }
}

#[test]
fn white_base_fills_the_rest() {
    let black = Recipe::parse("#000000").unwrap();
    assert_eq!(black, Recipe { red: 0, green: 0, blue: 0, white: 1000 });
}
