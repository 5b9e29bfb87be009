//! The library's own calls, by three families of constants. Whatever is handed to the library stays
//! here until it has given it back.
#![allow(
    unsafe_code,
    reason = "a library that is opened when the program runs has no types"
)]

mod fit;

use crate::choice::MpiChoice;
use crate::elf;
use crate::error::{MpiError, text_of};
use crate::family::{
    Abort, AskError, AskNumber, AskVersion, Calls, Constants, Finalize, Init, IprobeCall,
    SetHandler, StatusRoom, Test, Ticket, Transfer,
};
use libc::{c_int, c_void};
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Opens the first library that can be opened, and begins.
///
/// # Errors
/// None opens, or it is none, or it cannot begin.
pub(crate) fn open(choice: &MpiChoice) -> Result<(Box<dyn Calls>, PathBuf), MpiError> {
    let mut failed = Vec::new();
    for path in choice.libraries() {
        match Library::open(path) {
            Ok(library) => return Ok((library.begin(choice)?, path.clone())),
            Err(why) => failed.push(why),
        }
    }
    let tried = failed.join("; ");
    Err(MpiError::NoLibrary { tried })
}

/// A function of the library by its name.
macro_rules! function {
    ($library:expr, $name:literal, $of:ty) => {
        // SAFETY: the standard fixes what a function of this name takes and gives; handles are of the
        // size that the family has.
        unsafe { std::mem::transmute::<*mut c_void, $of>($library.symbol($name)?) }
    };
}

/// What a library calls itself, which may be asked before it begins.
fn version_of(ask: AskVersion) -> String {
    let lines = text_of(|text, length| {
        // SAFETY: the library writes less than the buffer holds, and a number.
        let _without_a_text_it_has_no_name = unsafe { ask(text, length) };
    });
    lines.into_iter().next().unwrap_or_default()
}

/// An open library. It is never closed: what it started may run to the end of the process.
struct Library {
    handle: *mut c_void,
    path: PathBuf,
}

impl Library {
    fn open(path: &Path) -> Result<Self, String> {
        // Where a name alone is, the loader knows.
        let is_name = !path.as_os_str().as_bytes().contains(&b'/');
        if !is_name {
            elf::check(path).map_err(|why| format!("{}: {why}", path.display()))?;
        }
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|why| why.to_string())?;
        // SAFETY: the name is a C string. What a library does when it is opened is its own; that it
        // is one is what whoever installed it or named it says. Parts of Open MPI that it opens
        // itself look for its symbols among all.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if handle.is_null() {
            // SAFETY: the text is valid until the next call of the loader on this thread.
            let why = unsafe { libc::dlerror() };
            if why.is_null() {
                return Err(path.display().to_string());
            }
            // SAFETY: as above, and it ends with a zero.
            let why = unsafe { CStr::from_ptr(why) };
            let mut why = why.to_string_lossy().into_owned();
            if is_name && path.exists() {
                why += &format!(
                    " (a name alone is looked for where the loader finds libraries; the file in this directory is ./{})",
                    path.display()
                );
            }
            return Err(why);
        }
        Ok(Self {
            handle,
            path: path.to_owned(),
        })
    }

    fn find(&self, symbol: &'static CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is open, the name a C string.
        let found = unsafe { libc::dlsym(self.handle, symbol.as_ptr()) };
        (!found.is_null()).then_some(found)
    }

    fn symbol(&self, symbol: &'static CStr) -> Result<*mut c_void, MpiError> {
        self.find(symbol).ok_or_else(|| MpiError::NoSymbol {
            library: self.path.clone(),
            symbol: symbol.to_str().unwrap_or_default(),
        })
    }

    /// What it calls itself.
    fn version(&self) -> Result<String, MpiError> {
        Ok(version_of(function!(
            self,
            c"MPI_Get_library_version",
            AskVersion
        )))
    }

    /// Where it lies, which the loader knows of one that was named alone.
    fn file(&self) -> PathBuf {
        let Some(call) = self.find(c"MPI_Init_thread") else {
            return self.path.clone();
        };
        // SAFETY: a struct of pointers, which may all be null.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: an address of a library that is never closed, and a place for what is known of it.
        let is_known = unsafe { libc::dladdr(call, &raw mut found) } != 0;
        if !is_known || found.dli_fname.is_null() {
            return self.path.clone();
        }
        // SAFETY: the name ends with a zero, and lives as long as the library is open.
        let name = unsafe { CStr::from_ptr(found.dli_fname) };
        PathBuf::from(OsStr::from_bytes(name.to_bytes()))
    }

    /// Begins by the constants of its family.
    fn begin(&self, choice: &MpiChoice) -> Result<Box<dyn Calls>, MpiError> {
        if choice.is_by_open_mpi() {
            self.check_fits_open_mpi()?;
        }
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let pointer = |number: usize| number as *mut c_void;
        if file.contains("libmpi_abi") {
            let standard = Constants {
                world: pointer(0x101),
                byte: pointer(0x247),
                errors_return: pointer(0x143),
                status_ignore: pointer(0),
                funneled: 1024,
                any_source: -1,
                source_at: 0,
            };
            return Ok(Box::new(Begun::new(self, standard)?));
        }
        if self.find(c"ompi_mpi_comm_world").is_some() {
            let open_mpi = Constants {
                world: self.symbol(c"ompi_mpi_comm_world")?,
                byte: self.symbol(c"ompi_mpi_byte")?,
                errors_return: self.symbol(c"ompi_mpi_errors_return")?,
                status_ignore: pointer(0),
                funneled: 1,
                any_source: -1,
                source_at: 0,
            };
            return Ok(Box::new(Begun::new(self, open_mpi)?));
        }
        let mpich = Constants {
            world: 0x4400_0000_i32,
            byte: 0x4c00_010d,
            errors_return: 0x5400_0001,
            status_ignore: pointer(1),
            funneled: 1,
            any_source: -2,
            source_at: 2,
        };
        Ok(Box::new(Begun::new(self, mpich)?))
    }
}

/// The calls of one library.
#[derive(Clone, Copy)]
struct Functions<H> {
    isend: Transfer<H>,
    irecv: Transfer<H>,
    test: Test<H>,
    probe: IprobeCall<H>,
    finalize: Finalize,
    abort: Abort<H>,
    error: AskError,
}

/// A transfer that the library has not given back. The bytes are the library's until then: nobody here
/// holds them as their owner, and those that it never gives back are leaked.
struct Open<H> {
    request: H,
    bytes: *mut [u8],
}

/// A library that has begun.
struct Begun<H> {
    constants: Constants<H>,
    functions: Functions<H>,
    rank: u32,
    size: u32,
    version: String,
    open: Vec<Option<Open<H>>>,
}

impl<H> Functions<H> {
    fn checked(&self, call: &'static str, code: c_int) -> Result<(), MpiError> {
        if code == 0 {
            return Ok(());
        }
        let says = text_of(|text, length| {
            // SAFETY: the library writes less than the buffer holds, and a number.
            let _without_a_text_there_is_the_number = unsafe { (self.error)(code, text, length) };
        });
        let says = says.join(" / ");
        Err(MpiError::Call { call, code, says })
    }
}

impl<H: Copy> Begun<H> {
    fn new(library: &Library, constants: Constants<H>) -> Result<Self, MpiError> {
        let init = function!(library, c"MPI_Init_thread", Init);
        let comm_rank = function!(library, c"MPI_Comm_rank", AskNumber<H>);
        let comm_size = function!(library, c"MPI_Comm_size", AskNumber<H>);
        let set_handler = function!(library, c"MPI_Comm_set_errhandler", SetHandler<H>);
        let version = library.version()?;
        let functions = Functions {
            isend: function!(library, c"MPI_Isend", Transfer<H>),
            irecv: function!(library, c"MPI_Irecv", Transfer<H>),
            test: function!(library, c"MPI_Test", Test<H>),
            probe: function!(library, c"MPI_Iprobe", IprobeCall<H>),
            finalize: function!(library, c"MPI_Finalize", Finalize),
            abort: function!(library, c"MPI_Abort", Abort<H>),
            error: function!(library, c"MPI_Error_string", AskError),
        };
        let (mut provided, mut rank, mut size) = (0, 0, 0);
        let nothing = std::ptr::null_mut::<c_void>();
        // SAFETY: no arguments are handed over, which the standard permits; the last is written.
        let code = unsafe {
            init(
                nothing.cast(),
                nothing,
                constants.funneled,
                &raw mut provided,
            )
        };
        functions.checked("MPI_Init_thread", code)?;
        // SAFETY: handles of this family; the numbers are written.
        unsafe {
            functions.checked(
                "MPI_Comm_set_errhandler",
                set_handler(constants.world, constants.errors_return),
            )?;
            functions.checked("MPI_Comm_rank", comm_rank(constants.world, &raw mut rank))?;
            functions.checked("MPI_Comm_size", comm_size(constants.world, &raw mut size))?;
        }
        Ok(Self {
            constants,
            functions,
            rank: u32::try_from(rank).unwrap_or(0),
            size: u32::try_from(size).unwrap_or(0),
            version,
            open: Vec::new(),
        })
    }

    /// Begins a transfer of `bytes`, which stay where they are until it is done.
    fn begin(
        &mut self,
        call: (&'static str, Transfer<H>),
        bytes: Box<[u8]>,
        peer: c_int,
        tag: c_int,
    ) -> Result<Ticket, MpiError> {
        let count = c_int::try_from(bytes.len()).unwrap_or(0);
        // The address of nothing is one that the standard gives a meaning.
        if count == 0 {
            return Err(MpiError::Message("a message has at least one byte"));
        }
        let bytes = Box::into_raw(bytes);
        let mut request = self.constants.world;
        let (byte, world) = (self.constants.byte, self.constants.world);
        // SAFETY: the buffer is as long as said, and lives until the library has given it back.
        let code = unsafe {
            call.1(
                bytes.cast(),
                count,
                byte,
                peer,
                tag,
                world,
                &raw mut request,
            )
        };
        self.functions.checked(call.0, code)?;
        let begun = Some(Open { request, bytes });
        let free = self.open.iter().position(Option::is_none);
        let at = free.unwrap_or(self.open.len());
        match free {
            Some(at) => self.open[at] = begun,
            None => self.open.push(begun),
        }
        Ok(Ticket(at))
    }
}

impl<H: Copy> Calls for Begun<H> {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn send(&mut self, to: u32, tag: c_int, bytes: Box<[u8]>) -> Result<Ticket, MpiError> {
        let peer = c_int::try_from(to).unwrap_or(c_int::MAX);
        self.begin(("MPI_Isend", self.functions.isend), bytes, peer, tag)
    }

    fn waiting(&mut self, tag: c_int) -> Result<Option<u32>, MpiError> {
        let Constants {
            world,
            any_source,
            source_at,
            ..
        } = self.constants;
        let (mut found, mut status) = (0, StatusRoom::default());
        let (there, by) = (&raw mut found, &raw mut status);
        // SAFETY: a flag and a status are written, for each of which there is room.
        let code = unsafe { (self.functions.probe)(any_source, tag, world, there, by) };
        self.functions.checked("MPI_Iprobe", code)?;
        if found == 0 {
            return Ok(None);
        }
        let from = status.get(source_at).copied().unwrap_or(-1);
        let from = u32::try_from(from).ok().filter(|from| *from < self.size);
        let none = MpiError::Message("a message is from a rank that there is not");
        from.ok_or(none).map(Some)
    }

    fn receive(&mut self, from: u32, tag: c_int, bytes: usize) -> Result<Ticket, MpiError> {
        let peer = c_int::try_from(from).unwrap_or(c_int::MAX);
        let room = vec![0; bytes].into_boxed_slice();
        self.begin(("MPI_Irecv", self.functions.irecv), room, peer, tag)
    }

    fn test(&mut self, ticket: Ticket) -> Result<Option<Box<[u8]>>, MpiError> {
        let place = self.open.get_mut(ticket.0);
        let Some(open) = place.and_then(Option::as_mut) else {
            return Err(MpiError::Message("a transfer was asked for that is done"));
        };
        let mut done = 0;
        let ignored = self.constants.status_ignore;
        // SAFETY: the request is one of the library's own that it has not given back.
        let code = unsafe { (self.functions.test)(&raw mut open.request, &raw mut done, ignored) };
        self.functions.checked("MPI_Test", code)?;
        if done == 0 {
            return Ok(None);
        }
        let done = self.open[ticket.0].take();
        // SAFETY: it was a box when the transfer began, and the library has given it back; it is taken
        // out of `open`, so that nobody takes it twice.
        Ok(done.map(|open| unsafe { Box::from_raw(open.bytes) }))
    }

    fn finalize(&mut self) -> Result<(), MpiError> {
        // SAFETY: nothing is handed over.
        let code = unsafe { (self.functions.finalize)() };
        self.functions.checked("MPI_Finalize", code)
    }

    fn abort(&mut self, code: i32) {
        // SAFETY: a handle and a number.
        let _whoever_comes_back_ends_by_itself =
            unsafe { (self.functions.abort)(self.constants.world, code) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Launched;

    fn said_of(libraries: &[&str]) -> String {
        let launched = Launched {
            size: 2,
            rank: 0,
            variable: "",
            by: "PMI",
        };
        let libraries = libraries.iter().map(PathBuf::from).collect();
        let choice = MpiChoice::new(libraries, &launched);
        open(&choice).err().unwrap().to_string()
    }

    #[test]
    fn what_is_no_library_is_told_with_all_that_was_tried() {
        let why = said_of(&["/nonexistent/libmpi.so.40", "libfathom_has_no_such.so.1"]);
        assert!(why.starts_with("no MPI library opens ("), "{why}");
        assert!(
            why.contains("/nonexistent/libmpi.so.40") && why.contains("no_such"),
            "{why}"
        );
    }

    #[test]
    fn who_names_a_file_of_this_directory_without_it_is_told_how() {
        let why = said_of(&["Cargo.toml"]);
        assert!(why.contains("Cargo.toml: cannot open"), "{why}");
        assert!(why.contains("in this directory is ./Cargo.toml"), "{why}");
        assert!(!said_of(&["libfathom_has_no_such.so.1"]).contains("./"));
    }

    #[test]
    fn a_library_without_the_calls_is_told_apart() {
        assert_eq!(
            said_of(&["libc.so.6"]),
            "libc.so.6 is no MPI library: it has no MPI_Init_thread"
        );
    }
}
