//! Splits a colour into base paints: `mixer 8a9a5b`.

mod recipe;

fn main() {
    let argument = std::env::args().nth(1).unwrap_or_default();
    match recipe::Recipe::parse(&argument) {
        Some(recipe) => println!("{recipe}"),
        None => {
            eprintln!("usage: mixer RRGGBB (a colour as six hex digits)");
            std::process::exit(2);
        }
    }
}
