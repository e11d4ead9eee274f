//! `models`: what there is to answer.

use anyhow::Result;
use rtc_app::{Config, KeyState, ModelEntry, Models, OFFLINE};

use crate::args::{AppArgs, ListForm, ModelsArgs};
use crate::console::{Console, Style};
use crate::exit::Exit;

/// Lists the models. Nothing is asked over the network, and the data folder stays closed.
pub(crate) fn run(app: &AppArgs, args: &ModelsArgs, console: &Console) -> Result<Exit> {
    let models = Models::of(&Config::load(app.config.as_deref())?);
    let list = models.list(args.model.as_deref())?;
    match args.output {
        ListForm::Json => console.result(&serde_json::to_string(&list)?),
        ListForm::Text => {
            let width = list
                .iter()
                .map(|entry| entry.name.chars().count())
                .max()
                .unwrap_or(0);
            for entry in &list {
                let mark = if entry.default { '*' } else { ' ' };
                console.result(&format!("{mark} {:width$}  {}", entry.name, about(entry)));
            }
            if let Some(hint) = models.hint(args.model.as_deref()) {
                console.styled(Style::Faint, &hint);
            }
        }
    }
    Ok(Exit::Completed)
}

fn about(entry: &ModelEntry) -> String {
    if entry.api == OFFLINE {
        return "needs no key and no network; understands plain requests and is no language model".into();
    }
    let mut about = match &entry.model {
        Some(model) if *model != entry.name => format!("{model}, {}", entry.api),
        _ => entry.api.clone(),
    };
    match &entry.base_url {
        _ if !entry.spoken => about.push_str(", which this version does not speak"),
        Some(base_url) => about.push_str(&format!(" at {base_url}")),
        None => {}
    }
    if let KeyState::Missing(variable) = &entry.key {
        about.push_str(&format!(" (no key: {variable} is not set)"));
    }
    about
}
