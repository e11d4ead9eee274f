//! Where saved scripts are.

use rtc_tool::ToolError;

/// The folder of saved scripts; they can be committed with the project.
pub const SCRIPTS: &str = "/.rtc/scripts";

/// The longest name of a script, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// The path of the script of this name; its ending may be left out.
///
/// # Errors
/// A name with anything but letters, digits, `_` and `-`.
pub fn script_path(name: &str) -> Result<String, ToolError> {
    let stem = name
        .strip_suffix(".ts")
        .or_else(|| name.strip_suffix(".js"))
        .unwrap_or(name);
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if stem.is_empty() || stem.len() > MAX_NAME_BYTES || !stem.chars().all(fits) {
        return Err(ToolError::invalid(format!(
            "`name` is the name of a script: 1 to {MAX_NAME_BYTES} letters, digits, `_` or `-`, got {name:?}"
        )));
    }
    Ok(format!("{SCRIPTS}/{stem}.ts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path() {
        for name in ["tidy", "tidy.ts", "tidy.js"] {
            assert_eq!(script_path(name).unwrap(), "/.rtc/scripts/tidy.ts");
        }
        for name in ["", ".ts", "../tidy", "a/b", "a b", "a.b", "ä", &"x".repeat(65)] {
            assert!(script_path(name).is_err(), "{name}");
        }
    }
}
