//! Collects the schemas of all types.

use std::collections::BTreeMap;

use rtc_types::{Answer, Code, ContentData, Message, Project, Rtc, Rule, Session, Turn, Update};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::rpc::{Call, CallKind, CallVisitor, Method, Reply, Request, RpcError, Scope};
use crate::{Gone, LiveEvent, TopicEvent};

/// A method with the schemas of what it is asked and what it gives.
pub(super) struct Described {
    pub(super) method: Method,
    pub(super) request: Value,
    pub(super) result: Value,
}

/// All types and all methods.
pub(super) struct Document {
    /// The schemas by name.
    pub(super) types: BTreeMap<String, Value>,
    /// The methods in the order of the table.
    pub(super) methods: Vec<Described>,
}

/// The generic type's name as it comes out of the generator, and as the documents have it.
const REPLY: (&str, &str) = ("ReplyOfAnyValue", "Reply");

impl Document {
    pub(super) fn new() -> Self {
        let mut collector = Collector::new();
        Request::visit_all(&mut collector);
        collector.add_entities();
        collector.finish()
    }

    pub(super) fn into_json(self) -> Value {
        let methods: serde_json::Map<String, Value> = self
            .methods
            .into_iter()
            .map(
                |Described {
                     method,
                     request,
                     result,
                 }| {
                    let about = json!({
                        "description": method.description().trim(),
                        "kind": kind(method),
                        "scopes": method.scopes(),
                        "errors": method.errors(),
                        "request": request,
                        "result": result,
                    });
                    (method.as_str().to_owned(), about)
                },
            )
            .collect();
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "The protocol of RTC Desktop",
            "methods": methods,
            "$defs": self.types,
        })
    }
}

/// Whether a method changes anything, in a word.
pub(super) fn kind(method: Method) -> &'static str {
    match method.kind() {
        CallKind::Query => "query",
        CallKind::Action => "action",
    }
}

/// What clients send may leave out what has a default; what they get never does, so each side has its generator.
struct Collector {
    sent: SchemaGenerator,
    given: SchemaGenerator,
    methods: Vec<Described>,
}

impl CallVisitor for Collector {
    fn visit<C: Call>(&mut self) {
        self.methods.push(Described {
            method: C::METHOD,
            request: self.sent.subschema_for::<C>().to_value(),
            result: self.given.subschema_for::<C::Result>().to_value(),
        });
    }
}

impl Collector {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12();
        Self {
            sent: settings.clone().for_deserialize().into_generator(),
            given: settings.for_serialize().into_generator(),
            methods: Vec::new(),
        }
    }

    fn add_entities(&mut self) {
        fn add<T: JsonSchema>(generator: &mut SchemaGenerator) {
            generator.subschema_for::<T>();
        }
        let given = &mut self.given;
        add::<Session>(given);
        add::<Turn>(given);
        add::<Message>(given);
        add::<Rtc>(given);
        add::<Project>(given);
        add::<Rule>(given);
        add::<ContentData>(given);
        add::<Answer>(given);
        add::<Update>(given);
        add::<Gone>(given);
        add::<TopicEvent>(given);
        add::<LiveEvent>(given);
        add::<Code>(given);
        add::<RpcError>(given);
        add::<Scope>(given);
        add::<Reply<Value>>(given);
    }

    fn finish(mut self) -> Document {
        let mut types = BTreeMap::new();
        let definitions = [
            self.sent.take_definitions(true),
            self.given.take_definitions(true),
        ];
        for (name, schema) in definitions.into_iter().flatten() {
            let name = if name == REPLY.0 { REPLY.1.to_owned() } else { name };
            if let Some(before) = types.insert(name.clone(), schema.clone()) {
                assert!(
                    before == schema,
                    "{name} is another type where it is sent than where it is given"
                );
            }
        }
        Document {
            types,
            methods: self.methods,
        }
    }
}
