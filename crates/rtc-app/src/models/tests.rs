use super::*;

const CONFIG: &str = r#"
    model = "small"
    [models.small]
    api = "openai-chat"
    base_url = "http://user:pass@127.0.0.1:1/v1"
    model = "qwen"
    context = 8000
    [models.keyed]
    api = "anthropic-messages"
    base_url = "https://host"
    key_env = "KEYED"
    [models."openai/special"]
    api = "openai-chat"
    base_url = "https://special/v1"
    [models.plain]
    api = "openai-chat"
    [models.strange]
    api = "spoken-nowhere"
"#;

fn models(config: &str, environment: &[(&str, &str)]) -> Models {
    let environment: HashMap<String, String> = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Models::with(&toml::from_str(config).unwrap(), move |name| {
        environment.get(name).cloned()
    })
}

fn endpoint(models: &Models, name: &str) -> Endpoint {
    match models.find(name).unwrap().into_iter().next() {
        Some(Found::At(endpoint)) => *endpoint,
        _ => panic!("{name} is no model at an endpoint"),
    }
}

/// `api model-id | wire model | base URL | key`.
fn told(models: &Models, name: &str) -> String {
    let endpoint = endpoint(models, name);
    format!(
        "{} {} | {} | {} | {:?}",
        endpoint.id.api, endpoint.id.model, endpoint.model, endpoint.base_url, endpoint.key
    )
}

#[test]
fn a_name_leads_to_its_place_and_key() {
    let with_keys = models(CONFIG, &[("OPENAI_API_KEY", "a"), ("ANTHROPIC_API_KEY", "b")]);
    let elsewhere = models(
        CONFIG,
        &[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("KEYED", "c")],
    );
    let none = models("", &[("ANTHROPIC_API_KEY", " ")]);
    let all = [
        told(&with_keys, "small"),
        told(&with_keys, "small/other"),
        told(&with_keys, "keyed"),
        told(&with_keys, "plain"),
        told(&with_keys, "openai/gpt-x"),
        told(&with_keys, "openai/special"),
        told(&with_keys, "anthropic/claude-x"),
        told(&elsewhere, "openai/a/b"),
        told(&elsewhere, "keyed"),
        told(&elsewhere, "plain"),
        told(&none, "openai/gpt-x"),
        told(&none, "anthropic/claude-x"),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    openai-chat small/qwen | qwen | http://user:pass@127.0.0.1:1/v1 | None
    openai-chat small/other | other | http://user:pass@127.0.0.1:1/v1 | None
    anthropic-messages keyed/keyed | keyed | https://host | Missing { variable: "KEYED" }
    openai-chat plain/plain | plain | https://api.openai.com/v1 | Set(ApiKey([redacted]))
    openai-chat openai/gpt-x | gpt-x | https://api.openai.com/v1 | Set(ApiKey([redacted]))
    openai-chat openai/special/openai/special | openai/special | https://special/v1 | None
    anthropic-messages anthropic/claude-x | claude-x | https://api.anthropic.com | Set(ApiKey([redacted]))
    openai-chat openai/a/b | a/b | http://127.0.0.1:9/v1 | None
    anthropic-messages keyed/keyed | keyed | https://host | Set(ApiKey([redacted]))
    openai-chat plain/plain | plain | http://127.0.0.1:9/v1 | None
    openai-chat openai/gpt-x | gpt-x | https://api.openai.com/v1 | Missing { variable: "OPENAI_API_KEY" }
    anthropic-messages anthropic/claude-x | claude-x | https://api.anthropic.com | Missing { variable: "ANTHROPIC_API_KEY" }
    "#);
}

#[test]
fn an_id_leads_back_to_the_same_place_only() {
    let models = models(CONFIG, &[("OPENAI_API_KEY", "a")]);
    for name in [
        "small",
        "small/other",
        "keyed",
        "openai/gpt-x",
        "openai/special",
        "offline",
        "plain",
    ] {
        let id = models.choose(Some(name)).unwrap();
        let model = models.open(&id).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(model.id(), &id, "{name}");
        assert!(
            Arc::ptr_eq(&model, &models.open(&id).unwrap()),
            "connections are kept"
        );
    }
    let gone = ModelId {
        api: "openai-chat".into(),
        model: "gone/qwen".into(),
    };
    let error = models.open(&gone).err().unwrap();
    insta::assert_snapshot!(error, @"the model did not accept the request (the turn began with the model `gone/qwen`, which is not configured any more); check that the configured model and API match");
}

#[test]
fn without_a_name_the_configuration_chooses_and_nothing_is_guessed() {
    assert_eq!(models(CONFIG, &[]).choose(None).unwrap().model, "small/qwen");
    let keyed = models("", &[("ANTHROPIC_API_KEY", "b")]);
    assert_eq!(keyed.choose(None).unwrap().api, OFFLINE);
    insta::assert_snapshot!(keyed.hint(None).unwrap(), @"ANTHROPIC_API_KEY is set, but no model is named, so the offline model answers; name one with --model anthropic/MODEL or RTC_MODEL=anthropic/MODEL.");
    assert_eq!(keyed.hint(Some("offline")), None);
    assert_eq!(models(CONFIG, &[("OPENAI_API_KEY", "a")]).hint(None), None);
    assert_eq!(models("", &[]).hint(None), None);
}

#[test]
fn an_unknown_name_lists_what_there_is() {
    let models = models(CONFIG, &[("OPENAI_API_KEY", "a")]);
    let told: Vec<_> = ["large", "openai/", "else/x", "strange"]
        .into_iter()
        .map(|name| models.choose(Some(name)).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(told.join("\n"), @"
    there is no model `large`; there are: offline, keyed, openai/special, plain, small, strange, openai/MODEL, ollama/MODEL
    there is no model `openai/`; there are: offline, keyed, openai/special, plain, small, strange, openai/MODEL, ollama/MODEL
    there is no model `else/x`; there are: offline, keyed, openai/special, plain, small, strange, openai/MODEL, ollama/MODEL
    the model `strange` speaks `spoken-nowhere`, which this version does not; use `offline`
    ");
}

#[test]
fn the_list_tells_what_is_ready_and_which_answers() {
    let models = models(CONFIG, &[("OPENAI_API_KEY", "a")]);
    let line = |entry: ModelEntry| {
        let mark = if entry.default { '*' } else { ' ' };
        let base = entry.base_url.unwrap_or_default();
        format!(
            "{mark} {} {} {:?} {base} {:?}",
            entry.name, entry.api, entry.model, entry.key
        )
    };
    let list: Vec<_> = models.list(None).unwrap().into_iter().map(line).collect();
    insta::assert_snapshot!(list.join("\n"), @r#"
      offline offline None  NotNeeded
      keyed anthropic-messages Some("keyed") https://host Missing("KEYED")
      openai/special openai-chat Some("openai/special") https://special/v1 NotNeeded
      plain openai-chat Some("plain") https://api.openai.com/v1 Set
    * small openai-chat Some("qwen") http://127.0.0.1:1/v1 NotNeeded
      strange spoken-nowhere None  NotNeeded
      openai/MODEL openai-chat None https://api.openai.com/v1 Set
      ollama/MODEL ollama None  NotNeeded
    "#);
    let named = models.list(Some("anthropic/claude-x")).unwrap();
    let default: Vec<_> = named
        .into_iter()
        .filter(|entry| entry.default)
        .map(line)
        .collect();
    insta::assert_snapshot!(default.join("\n"), @r#"* anthropic/claude-x anthropic-messages Some("claude-x") https://api.anthropic.com Missing("ANTHROPIC_API_KEY")"#);
    assert!(models.list(Some("large")).is_err());
}
