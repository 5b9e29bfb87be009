//! Several hosts: ranks that a launcher connects, those that begin by the clock, and the process that
//! starts a launcher.

mod agree;
mod alike;
mod alive;
mod attended;
mod beforehand;
mod connection;
mod course;
mod ending;
mod front;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod host_list;
mod in_turn;
mod joining;
mod keeping;
mod launched;
mod launcher;
mod leaving;
mod marks;
mod muster;
mod naming;
mod options;
mod own_files;
mod own_targets;
mod place;
mod printed;
mod reach;
mod rows;
mod search;
mod so_far;
mod together;
mod view;
mod watched;
mod words;
mod work;

pub(crate) use agree::apart;
pub(crate) use alike::is_said_by_another;
pub(crate) use course::GroupOutput;
pub(crate) use ending::refuse;
pub(crate) use front::LaunchFront;
pub(crate) use launched::{Launch, is_first, is_launched, refuse_several};
pub(crate) use leaving::{leave, wait_for_others, watch_the_end};
pub(crate) use options::{add, add_connected, is_watched, note_front};
pub(crate) use own_files::FileReaders;
pub(crate) use place::{RankPlace, check_shift, notice};
pub(crate) use rows::{KeptByRoot, RootWork};
pub(crate) use together::{GroupAsked, GroupCourse, run};
pub(crate) use work::GroupWork;
