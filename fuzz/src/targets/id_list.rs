//! Lists of CPUs and nodes, as typed and as kernels write them: read back from what they are shown as.

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    if let Ok(list) = units::IdList::parse(text) {
        assert!(!list.0.is_empty());
        assert_eq!(units::IdList::parse(&list.to_string()), Ok(list));
    }
    if let Ok(list) = text.parse::<record::CpuList>() {
        assert!(list.ids().is_sorted_by(|a, b| a < b));
        assert_eq!(list.to_string().parse(), Ok(list));
    }
}
