use super::*;

#[test]
fn pieces_are_short_and_lose_nothing() {
    for text in [
        "",
        "a",
        "a b",
        &"wordswithoutspace".repeat(20),
        "把所有的文件都列出来 ".repeat(9).as_str(),
    ] {
        let pieces = pieces(text);
        assert_eq!(pieces.concat(), text);
        assert!(
            pieces
                .iter()
                .all(|piece| !piece.is_empty() && piece.chars().count() <= 2 * DELTA)
        );
    }
}
