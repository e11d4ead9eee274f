//! `models`: what there is to answer.

use anyhow::Result;
use rtc_app::{Config, KeyState, ModelEntry, Models, OFFLINE};
use rtc_wire::rpc::ModelsList;

use crate::args::{AppArgs, ListForm, ModelsArgs};
use crate::console::{Console, Style};
use crate::desk::{There, Wanted};
use crate::exit::Exit;

/// Lists the models: those of the engine that runs on the data folder, else those that one would have here. Nothing is
/// asked of models, and a data folder that nobody uses stays closed.
pub(crate) async fn run(app: &AppArgs, args: &ModelsArgs, console: &Console) -> Result<Exit> {
    let wanted = Wanted {
        model: args.model.clone(),
        ..Wanted::default()
    };
    let (list, hint) = match There::find(app, &wanted).await? {
        Some(there) => (there.call(ModelsList {}).await?.items, None),
        None => {
            let models = Models::of(&Config::load(app.config.as_deref())?);
            let named = args.model.as_deref();
            (models.list(named)?, models.hint(named))
        }
    };
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
            if let Some(hint) = hint {
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
