//! What ranks say to each other in rounds: a fault, or something else.

use crate::exit::{code_of, told};
use host::PeerFault;
use serde_json::{Value, json};

/// What an error is to the other ranks.
pub(super) fn fault_by(error: &anyhow::Error) -> PeerFault {
    PeerFault {
        text: told(error),
        exit_code: code_of(error),
    }
}

/// What else than a fault a word says.
pub(super) const SAID: &str = "said";

/// What a word says that is no fault.
pub(super) fn said(word: &[u8]) -> String {
    let value: Value = serde_json::from_slice(word).unwrap_or_default();
    let text = value.get(SAID).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// A fault as a word.
pub(super) fn fault_word(fault: &PeerFault) -> Value {
    json!({ "fault": fault.text, "code": fault.exit_code })
}

/// The fault that a word is.
pub(super) fn fault_of(word: &[u8]) -> Option<PeerFault> {
    let value: Value = serde_json::from_slice(word)
        .unwrap_or_else(|_| json!({ "fault": "a rank said what nobody understands", "code": 5 }));
    let text = value.get("fault")?.as_str()?.to_owned();
    let code = value.get("code").and_then(Value::as_i64);
    Some(PeerFault {
        text,
        exit_code: code.and_then(|code| i32::try_from(code).ok()).unwrap_or(1),
    })
}

/// Why whoever was asked twice for the end hears no more of the others.
pub(super) fn unawaited() -> PeerFault {
    PeerFault::lost("nobody waits for the other ranks any more")
}
