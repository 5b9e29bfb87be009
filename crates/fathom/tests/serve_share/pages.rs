//! The pages as people use them, in a real browser.

use super::browser::{Browser, NO_BROWSER};
use super::client::SECRET;
use super::served;

/// Gives files to the page as dragging or pasting does.
fn given(event: &str, made: &str) -> String {
    format!(
        "(() => {{ const given = new DataTransfer(); {made}; document.dispatchEvent({event}); }})()"
    )
}

const DROP: &str =
    "new DragEvent('drop', { dataTransfer: given, bubbles: true, cancelable: true })";
const PASTE: &str =
    "new ClipboardEvent('paste', { clipboardData: given, bubbles: true, cancelable: true })";
const HOSTILE: &str = "<img src=x onerror=window.pwned=1>\".html";

/// Every link in the list of what was sent.
const SENT: &str = "document.querySelectorAll('#progress a').length";

#[test]
fn people_log_in_put_files_up_edit_them_and_give_links_to_guests() {
    let home = tempfile::tempdir().unwrap();
    let Some(mut browser) = Browser::open(home.path()) else {
        println!("{NO_BROWSER}");
        return;
    };
    // A browser tells of progress twenty times a second: the large file must not come in less.
    let (_dir, server, owner) = served(&["--misbehave", "put.bandwidth=50MB/s"]);
    let base = format!("http://{}", server.address);
    log_in(&mut browser, &base);
    upload(&mut browser, home.path());
    assert!(browser.fits("uploaded", 1280) && browser.fits("uploaded", 500));
    let first = "document.querySelector('#progress a').pathname.split('/')[1].slice(1)";
    let id = browser.run(first).as_str().unwrap().to_owned();
    edit(&mut browser, &base, &id);
    let got = owner.call("GET", &format!("/-{id}"));
    assert_eq!(got.body, b"<script>window.pwned = 1</script>");
    assert!(got.headers["content-disposition"].starts_with("attachment"));
    replace(&mut browser, &base, &id);
    let got = owner.call("GET", &format!("/-{id}"));
    assert_eq!(got.body, b"other bytes");
    choose_end(&mut browser, &base);
    let link = guest_link(&mut browser, &base);
    for (page, name) in [
        ("/".to_owned(), "start"),
        ("/files".to_owned(), "files"),
        (format!("/files/{id}/info"), "info"),
        (format!("/files/{id}/edit"), "edit"),
        (format!("/files/{id}/downloads"), "downloads"),
        (format!("/files/{id}/confirm-delete"), "delete"),
        ("/guest-links".to_owned(), "links"),
        ("/guest-links/new".to_owned(), "new-link"),
        ("/settings".to_owned(), "settings"),
        ("/information".to_owned(), "information"),
    ] {
        browser.go(&format!("{base}{page}"));
        for width in [1280, 500] {
            assert!(browser.fits(name, width), "{page} is wider than {width}");
        }
        assert_eq!(browser.run("window.pwned === undefined"), true, "{page}");
    }
    assert_eq!(browser.console, Vec::<String>::new());
    as_guest(&mut browser, &link);
    browser.go(&format!("{base}/files/{id}/confirm-delete"));
    browser.run("document.querySelector('button.danger').click()");
    browser.until("location.pathname === '/files' && document.readyState === 'complete'");
    assert_eq!(owner.call("GET", &format!("/-{id}")).status, 404);
}

fn log_in(browser: &mut Browser, base: &str) {
    browser.go(&format!("{base}/login"));
    assert!(browser.fits("login", 1280) && browser.fits("login", 500));
    browser.run(&format!(
        "(() => {{ const field = document.querySelector('[name=sharedSecretKey]'); field.value = {SECRET:?}; \
         field.form.requestSubmit(); }})()"
    ));
    browser.until("location.pathname === '/' && document.readyState === 'complete'");
}

fn upload(browser: &mut Browser, home: &std::path::Path) {
    let hostile = home.join(HOSTILE);
    std::fs::write(&hostile, "<script>window.pwned = 1</script>").unwrap();
    let plain = home.join("plain.txt");
    std::fs::write(&plain, "two files at once").unwrap();
    // What a person sees of the progress of a large file.
    browser.run(
        "(() => { window.shown = []; const list = document.getElementById('progress'); \
         new MutationObserver(() => window.shown.push(list.innerText)) \
         .observe(list, { subtree: true, childList: true, characterData: true, attributes: true }); })()",
    );
    browser.choose("#files", &[hostile, plain]);
    browser.until(&format!("{SENT} === 2"));
    let large = "given.items.add(new File([new Uint8Array(60e6)], 'large.bin'))";
    browser.run(&given(DROP, large));
    browser.until(&format!("{SENT} === 3"));
    let text = "given.setData('text/plain', 'pasted text')";
    browser.run(&given(PASTE, text));
    let image = "given.items.add(new File(['x'], 'image.png', { type: 'image/png' }))";
    browser.run(&given(PASTE, image));
    browser.until(&format!("{SENT} === 5"));
    let steps =
        browser.run("window.shown.filter((text) => /large.bin\\s+\\d+ %/.test(text)).length");
    assert!(steps.as_u64().unwrap() > 1, "no progress was shown");
    let names =
        browser.run("[...document.querySelectorAll('#progress a')].map((a) => a.textContent)");
    assert_eq!(names[0], HOSTILE);
    assert!(names[3].as_str().unwrap().starts_with("pasted-"), "{names}");
}

fn edit(browser: &mut Browser, base: &str, id: &str) {
    browser.go(&format!("{base}/files/{id}/edit"));
    browser.run(
        "(() => { const form = document.querySelector('form[data-json]'); \
         form.querySelector('[name=note]').value = '<b onclick=window.pwned=1>bold</b>'; form.requestSubmit(); })()",
    );
    browser.until("!location.pathname.endsWith('/edit') && document.readyState === 'complete'");
    browser.go(&format!("{base}/files/{id}/info"));
    let text = browser.run("document.body.innerText");
    assert!(text.as_str().unwrap().contains("<b onclick="), "{text}");
}

/// Other bytes and another note; two files at once are none.
fn replace(browser: &mut Browser, base: &str, id: &str) {
    browser.go(&format!("{base}/files/{id}/edit"));
    let two = "for (const name of ['a', 'b']) given.items.add(new File(['x'], name))";
    browser.run(&given(DROP, two));
    browser.until("document.querySelector('#upload .said').textContent.includes('choose one')");
    browser.run("document.querySelector('#note').value = 'of the other'");
    browser.run(&given(
        DROP,
        "given.items.add(new File(['other bytes'], 'other.bin'))",
    ));
    browser.until("location.pathname.endsWith('/info') && document.readyState === 'complete'");
    let text = browser.run("document.body.innerText");
    assert!(text.as_str().unwrap().contains("of the other"), "{text}");
}

/// An upload that is to end at a time, which its page for changes shows as it was chosen.
fn choose_end(browser: &mut Browser, base: &str) {
    browser.go(&format!("{base}/"));
    browser.run(
        "(() => { const choice = document.querySelector('#expires'); choice.value = 'date'; \
         choice.dispatchEvent(new Event('change')); })()",
    );
    let file = "given.items.add(new File(['x'], 'ends.txt'))";
    browser.run(&given(DROP, file));
    browser.until("document.querySelector('#upload .said').textContent.includes('until when')");
    browser.run("document.querySelector('#end').value = '2040-02-03T04:05:06'");
    assert!(browser.fits("end", 1280) && browser.fits("end", 500));
    browser.run(&given(DROP, file));
    browser.until(&format!("{SENT} === 1"));
    let id = browser.run("document.querySelector('#progress a').pathname.split('/')[1].slice(1)");
    browser.go(&format!("{base}/files/{}/edit", id.as_str().unwrap()));
    let end = browser.run("document.querySelector('[name=expiration]').value");
    assert_eq!(end, "2040-02-03T04:05:06");
}

/// Makes a guest link for one file; its address.
fn guest_link(browser: &mut Browser, base: &str) -> String {
    browser.go(&format!("{base}/guest-links/new"));
    browser.run(
        "(() => { const form = document.querySelector('form[data-json]'); \
         form.querySelector('[name=label]').value = '<i>team</i>'; \
         form.querySelector('[name=fileLifetime]').value = '36h'; \
         form.querySelector('[name=maxFileUploads]').value = '1'; form.requestSubmit(); })()",
    );
    browser.until("location.pathname === '/guest-links' && document.readyState === 'complete'");
    let text = browser.run("document.body.innerText");
    assert!(text.as_str().unwrap().contains("1 day 12 hours"), "{text}");
    let link = browser.run("document.querySelector('[data-copy*=\"/g/\"]').dataset.copy");
    link.as_str().unwrap().to_owned()
}

/// One file has a place, and the other is told why it has none.
fn as_guest(browser: &mut Browser, link: &str) {
    browser.go(link);
    assert!(browser.fits("guest", 1280) && browser.fits("guest", 500));
    browser.run(&given(DROP, "given.items.add(new File(['x'], 'one.txt'))"));
    browser.until(&format!("{SENT} === 1"));
    browser.run(&given(DROP, "given.items.add(new File(['x'], 'two.txt'))"));
    browser.until("document.querySelector('#progress .said') !== null");
    let said = browser.run("document.querySelector('#progress').innerText");
    let said = said.as_str().unwrap();
    assert!(
        said.contains("takes no more files") && said.contains("Send again"),
        "{said}"
    );
    assert!(browser.fits("guest-full", 1280) && browser.fits("guest-full", 500));
}
