use crate::{drive::Conversation, folder::Folder, phrasings::FILES};
#[test]
#[ignore]
fn probe() {
    for request in include_str!("/tmp/probe.txt")
        .split("\n")
        .filter(|l| !l.is_empty())
    {
        let mut c = Conversation::new(Folder::new(FILES));
        c.folder.answers = (0..3).map(|_| Some("/settings/config.toml".to_owned())).collect();
        let request = request.replace("\\n", "\n");
        let a = c.ask(&request);
        let changed: Vec<_> = c
            .folder
            .files
            .iter()
            .filter(|(p, t)| !FILES.iter().any(|(q, u)| q == p && u == t))
            .collect();
        let first: String = a
            .lines()
            .take(2)
            .collect::<Vec<_>>()
            .join(" / ")
            .chars()
            .take(150)
            .collect();
        std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!(
                "{request}\n    {:?}\n    {first}\n    {changed:?}\n",
                c.short_calls()
            ),
        )
        .unwrap();
    }
}
