//! The targets: each reads any bytes as one kind of foreign input, and panics where a law does not hold.

/// Declares a module a name, each with a function `run`, and the table of them.
macro_rules! targets {
    ($($name:ident)*) => {
        $(mod $name;)*

        /// The targets by name, which is also the name of their seeds and of their dictionary.
        pub const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::run)),*];
    };
}

targets! {
    config
    crash_journal
    fio_command_line
    fio_job
    fio_units
    histogram
    http_response
    id_list
    import
    layout_manifest
    load_scenario
    load_target
    load_threshold
    mark
    misbehave
    nbd_client
    nbd_server
    nbd_url
    plan_file
    rank_member
    rank_message
    rank_parts
    rank_step
    rank_words
    rate
    records
    s3_connection
    s3_documents
    s3_form
    s3_keys
    s3_lists
    s3_policy
    s3_records
    s3_request
    setting
    share_form
    signature
    sim_model
    size
    time
}
