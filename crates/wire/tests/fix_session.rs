//! The session state machine by the scenarios of the FIX session test cases: numbering, time, parties, recovery.

mod fix_desk;

use feedbench_wire::fix::profile::{Profile, ResetOnLogon};
use feedbench_wire::fix::session::{Identity, SessionError};
use feedbench_wire::fix::store::Store;
use fix_desk::{at, time_text, wire, Desk};

const ORDER: &str = "11=c-1|38=10|40=1|54=1|55=X|60=20261121-14:30:00|";

#[test]
fn scenario_1b_initiator_logs_on() {
    let mut desk = Desk::initiator(Profile::fix44());
    assert_eq!(desk.sent(), ["35=A|34=1|98=0|108=30|"]);
    desk.receive("A", 1, "98=0|108=30|");
    assert_eq!(desk.events(), ["LoggedOn"]);
    assert!(desk.session.is_logged_on());
}

#[test]
fn scenario_1s_logon_with_number_too_high_is_answered_before_the_gap() {
    let mut desk = Desk::acceptor(Profile::fix44());
    desk.receive("A", 5, "98=0|108=30|");
    assert_eq!(
        desk.sent(),
        ["35=A|34=1|98=0|108=30|", "35=2|34=2|7=1|16=0|"]
    );
    assert_eq!(
        desk.events(),
        ["LoggedOn", "Gap { expected: 1, received: 5 }"]
    );
    assert_eq!(desk.next_incoming(), 1);
}

#[test]
fn scenario_1s_logon_with_number_too_low_is_refused() {
    let mut desk = Desk::logged_on();
    desk.session.disconnected();
    desk.session.connect(at(0)).unwrap();
    desk.receive("A", 1, "98=0|108=30|");
    assert_eq!(
        desk.sent(),
        ["35=5|34=2|58=MsgSeqNum too low, expecting 2 but received 1|"]
    );
    assert_eq!(desk.events(), ["Disconnect(SequenceTooLow)"]);
}

#[test]
fn scenario_1s_reset_flag_begins_both_directions_again() {
    let mut desk = Desk::logged_on();
    desk.session.disconnected();
    desk.session.connect(at(0)).unwrap();
    desk.receive("A", 1, "98=0|108=30|141=Y|");
    assert_eq!(desk.sent(), ["35=A|34=1|98=0|108=30|141=Y|"]);
    assert_eq!(desk.events(), ["LoggedOn"]);
    assert_eq!(desk.next_incoming(), 2);
}

#[test]
fn scenario_1s_reset_within_a_session() {
    let mut desk = Desk::logged_on();
    desk.receive("0", 2, "");
    desk.receive("A", 1, "98=0|108=30|141=Y|");
    assert_eq!(desk.sent(), ["35=A|34=1|98=0|108=30|141=Y|"]);
    assert_eq!(desk.next_incoming(), 2);
}

#[test]
fn a_profile_may_reset_on_each_logon() {
    let profile = Profile {
        reset_on_logon: ResetOnLogon::Always,
        ..Profile::fix44()
    };
    let mut desk = Desk::acceptor(profile);
    for _ in 0..2 {
        desk.receive("A", 1, "98=0|108=30|");
        assert_eq!(desk.sent(), ["35=A|34=1|98=0|108=30|"]);
        desk.session.disconnected();
        desk.session.connect(at(0)).unwrap();
    }
}

#[test]
fn scenario_1c_logons_of_strangers_are_not_answered() {
    let time = time_text(at(0));
    for (what, message) in [
        (
            "sender",
            wire(
                "FIX.4.4",
                &format!("35=A|34=1|49=XX|52={time}|56=ISLD|98=0|108=30|"),
            ),
        ),
        (
            "target",
            wire(
                "FIX.4.4",
                &format!("35=A|34=1|49=TW|52={time}|56=XX|98=0|108=30|"),
            ),
        ),
        (
            "version",
            wire(
                "FIX.4.2",
                &format!("35=A|34=1|49=TW|52={time}|56=ISLD|98=0|108=30|"),
            ),
        ),
    ] {
        let mut desk = Desk::acceptor(Profile::fix44());
        desk.receive_bytes(&message);
        assert!(desk.sent().is_empty(), "{what}");
        assert_eq!(desk.events(), ["Disconnect(UnknownParty)"], "{what}");
    }
}

#[test]
fn scenario_1e_a_session_begins_with_a_logon() {
    let mut desk = Desk::acceptor(Profile::fix44());
    desk.receive("0", 1, "");
    assert!(desk.sent().is_empty());
    assert_eq!(desk.events(), ["Disconnect(NotALogon)"]);
}

#[test]
fn logons_that_the_profile_does_not_allow_are_refused_with_words() {
    for (body, text) in [
        ("98=1|108=30|", "Unsupported EncryptMethod (98), only 0"),
        (
            "98=0|108=-1|",
            "HeartBtInt (108) must be between 0 and 3600",
        ),
        (
            "98=0|108=3601|",
            "HeartBtInt (108) must be between 0 and 3600",
        ),
        ("98=0|", "Required tag missing (108)"),
        ("98=0|108=x|", "Incorrect data format for value (108)"),
    ] {
        let mut desk = Desk::acceptor(Profile::fix44());
        desk.receive("A", 1, body);
        assert_eq!(desk.sent(), [format!("35=5|34=1|58={text}|")], "{body}");
        assert_eq!(desk.events(), ["Disconnect(LogonRefused)"], "{body}");
    }
}

#[test]
fn fixt_names_the_version_of_its_messages() {
    let mut desk = Desk::acceptor(Profile::fixt());
    desk.receive("A", 1, "98=0|108=30|1137=9|");
    assert_eq!(desk.sent(), ["35=A|34=1|98=0|108=30|1137=9|"]);
    for (body, text) in [
        ("98=0|108=30|1137=8|", "DefaultApplVerID (1137) must be 9"),
        ("98=0|108=30|", "Required tag missing (1137)"),
    ] {
        let mut desk = Desk::acceptor(Profile::coinbase());
        desk.receive("A", 1, body);
        assert_eq!(desk.sent(), [format!("35=5|34=1|58={text}|")]);
    }
}

#[test]
fn scenario_2a_messages_in_turn_are_given_out() {
    let mut desk = Desk::logged_on();
    desk.receive("D", 2, ORDER);
    desk.receive("D", 3, ORDER);
    assert_eq!(desk.events(), ["Application D 2", "Application D 3"]);
    assert_eq!(desk.next_incoming(), 4);
}

#[test]
fn scenario_2b_later_messages_wait_until_the_missing_ones_come() {
    let mut desk = Desk::logged_on();
    desk.receive("D", 4, ORDER);
    desk.receive("D", 5, ORDER);
    assert_eq!(desk.sent(), ["35=2|34=2|7=2|16=0|"]);
    assert_eq!(desk.events(), ["Gap { expected: 2, received: 4 }"]);
    desk.receive_again("D", 2, ORDER);
    desk.receive_again("4", 3, "36=4|123=Y|");
    assert_eq!(
        desk.events(),
        ["Application D 2", "Application D 4", "Application D 5"]
    );
    desk.receive_again("D", 4, ORDER);
    assert!(desk.sent().is_empty() && desk.events().is_empty());
    assert_eq!(desk.next_incoming(), 6);
}

#[test]
fn scenario_2b_a_resend_that_does_not_come_is_asked_for_again() {
    let mut desk = Desk::logged_on();
    desk.receive("D", 3, ORDER);
    assert_eq!(desk.sent(), ["35=2|34=2|7=2|16=0|"]);
    desk.wait(9_999);
    assert!(desk.sent().is_empty());
    assert_eq!(desk.session.deadline(), Some(at(10_000).monotonic_ns));
    desk.wait(1);
    assert_eq!(desk.sent(), ["35=2|34=3|7=2|16=0|"]);
}

#[test]
fn scenario_2c_a_used_number_without_flag_ends_the_session() {
    let mut desk = Desk::logged_on();
    desk.receive("D", 1, ORDER);
    assert_eq!(
        desk.sent(),
        ["35=5|34=2|58=MsgSeqNum too low, expecting 2 but received 1|"]
    );
    assert_eq!(desk.events(), ["Disconnect(SequenceTooLow)"]);
    assert_eq!(desk.next_incoming(), 2);
}

#[test]
fn scenario_2d_and_3b_garbled_messages_use_no_number() {
    let mut desk = Desk::logged_on();
    let mut wrong_sum = desk.message("D", 2, ORDER);
    let digit = wrong_sum.len() - 2;
    wrong_sum[digit] = if wrong_sum[digit] == b'0' { b'1' } else { b'0' };
    desk.receive_bytes(&wrong_sum);
    assert_eq!(desk.events(), ["Garbled(CheckSum)"]);
    assert!(desk.sent().is_empty());
    desk.receive("D", 2, ORDER);
    assert_eq!(desk.events(), ["Application D 2"]);
}

#[test]
fn scenario_2e_a_duplicate_with_flag_is_ignored() {
    let mut desk = Desk::logged_on();
    desk.receive("D", 2, ORDER);
    desk.receive_again("D", 2, ORDER);
    assert_eq!(desk.events(), ["Application D 2"]);
    assert!(desk.sent().is_empty());
    assert_eq!(desk.next_incoming(), 3);
}

#[test]
fn scenario_2f_a_duplicate_sent_first_after_it_was_sent_ends_the_session() {
    let mut desk = Desk::logged_on();
    let (now, later) = (time_text(at(0)), time_text(at(10)));
    desk.receive_fields(&format!(
        "35=D|34=2|43=Y|49=TW|52={now}|56=ISLD|122={later}|{ORDER}"
    ));
    assert_eq!(
        desk.sent(),
        [
            "35=3|34=2|45=2|58=SendingTime accuracy problem|371=122|372=D|373=10|",
            "35=5|34=3|58=SendingTime accuracy problem|"
        ]
    );
    assert_eq!(
        desk.events(),
        ["Refused D 2 SendingTimeAccuracy", "Disconnect(SendingTime)"]
    );
}

#[test]
fn scenario_2g_a_duplicate_without_original_time_is_rejected() {
    let mut desk = Desk::logged_on();
    let now = time_text(at(0));
    desk.receive_fields(&format!("35=D|34=2|43=Y|49=TW|52={now}|56=ISLD|{ORDER}"));
    assert_eq!(
        desk.sent(),
        ["35=3|34=2|45=2|58=Required tag missing|371=122|372=D|373=1|"]
    );
    assert_eq!(desk.next_incoming(), 3);
}

#[test]
fn scenario_2i_another_version_ends_the_session() {
    let mut desk = Desk::logged_on();
    let now = time_text(at(0));
    desk.receive_bytes(&wire(
        "FIX.4.2",
        &format!("35=0|34=2|49=TW|52={now}|56=ISLD|"),
    ));
    assert_eq!(desk.sent(), ["35=5|34=2|58=Incorrect BeginString|"]);
    assert_eq!(desk.events(), ["Disconnect(BeginString)"]);
}

#[test]
fn scenario_2k_other_parties_end_the_session() {
    for (sender, target) in [("XX", "ISLD"), ("TW", "XX")] {
        let mut desk = Desk::logged_on();
        let now = time_text(at(0));
        desk.receive_fields(&format!("35=0|34=2|49={sender}|52={now}|56={target}|"));
        assert_eq!(
            desk.sent(),
            [
                "35=3|34=2|45=2|58=CompID problem|372=0|373=9|",
                "35=5|34=3|58=CompID problem|"
            ]
        );
        assert_eq!(desk.events()[1], "Disconnect(CompId)");
        assert_eq!(desk.next_incoming(), 3);
    }
}

#[test]
fn scenario_2o_sending_time_must_be_near_the_clock() {
    for (seconds, fits) in [
        (0, true),
        (120, true),
        (-120, true),
        (121, false),
        (-121, false),
    ] {
        let mut desk = Desk::logged_on();
        let mut sent = at(0);
        sent.utc.unix_ns += seconds * 1_000_000_000;
        desk.receive_fields(&format!("35=0|34=2|49=TW|52={}|56=ISLD|", time_text(sent)));
        assert_eq!(desk.session.is_logged_on(), fits, "{seconds}");
        if !fits {
            assert_eq!(
                desk.sent()[0],
                "35=3|34=2|45=2|58=SendingTime accuracy problem|371=52|372=0|373=10|"
            );
        }
    }
}

#[test]
fn a_message_without_number_ends_the_session() {
    let mut desk = Desk::logged_on();
    let now = time_text(at(0));
    desk.receive_fields(&format!("35=0|49=TW|52={now}|56=ISLD|"));
    assert_eq!(
        desk.sent(),
        ["35=5|34=2|58=Required tag missing: MsgSeqNum (34)|"]
    );
    assert_eq!(desk.events(), ["Disconnect(NoSequenceNumber)"]);
}

#[test]
fn scenario_4a_a_heartbeat_after_silence_of_ours() {
    let mut desk = Desk::logged_on();
    desk.wait(20_000);
    desk.receive("0", 2, "");
    desk.wait(9_999);
    assert!(desk.sent().is_empty());
    desk.wait(1);
    assert_eq!(desk.sent(), ["35=0|34=2|"]);
    assert_eq!(desk.session.deadline(), Some(at(56_000).monotonic_ns));
}

#[test]
fn scenario_4b_a_heartbeat_repeats_the_word_of_the_test_request() {
    let mut desk = Desk::logged_on();
    desk.receive("1", 2, "112=HELLO|");
    assert_eq!(desk.sent(), ["35=0|34=2|112=HELLO|"]);
}

#[test]
fn scenario_6_silence_is_tested_and_then_ends() {
    let mut desk = Desk::logged_on();
    desk.wait(30_000);
    assert_eq!(desk.sent(), ["35=0|34=2|"]);
    desk.wait(6_000);
    assert_eq!(desk.sent(), ["35=1|34=3|112=TEST|"]);
    desk.wait(35_999);
    assert!(desk.events().is_empty());
    desk.wait(1);
    assert_eq!(desk.events(), ["Disconnect(Silence)"]);
}

#[test]
fn scenario_6_any_message_ends_the_test() {
    let mut desk = Desk::logged_on();
    desk.wait(36_000);
    desk.receive("0", 2, "112=TEST|");
    desk.sent();
    desk.wait(36_000);
    assert_eq!(desk.sent(), ["35=1|34=3|112=TEST|"]);
    assert!(desk.events().is_empty());
}

#[test]
fn no_interval_means_no_heartbeat() {
    let mut desk = Desk::acceptor(Profile::fix44());
    desk.receive("A", 1, "98=0|108=0|");
    desk.sent();
    assert_eq!(desk.session.deadline(), None);
    desk.wait(1_000_000);
    assert!(desk.sent().is_empty());
}

#[test]
fn a_connection_without_logon_ends_after_ten_seconds() {
    for mut desk in [
        Desk::acceptor(Profile::fix44()),
        Desk::initiator(Profile::fix44()),
    ] {
        assert_eq!(desk.session.deadline(), Some(at(10_000).monotonic_ns));
        desk.wait(10_000);
        assert_eq!(desk.events(), ["Disconnect(LogonTimeout)"]);
        assert_eq!(desk.session.deadline(), None);
    }
}

#[test]
fn scenario_7_a_reject_is_told_and_not_answered() {
    let mut desk = Desk::logged_on();
    desk.receive("3", 2, "45=1|58=why|");
    assert_eq!(desk.events(), ["Rejected 3 2"]);
    assert!(desk.sent().is_empty());
}

#[test]
fn scenario_8_only_application_messages_are_sent_again() {
    let mut desk = Desk::logged_on();
    let now = desk.now();
    desk.session
        .send("B", now, |body| body.text(148, "two"))
        .unwrap();
    desk.receive("1", 2, "112=x|");
    desk.receive("1", 3, "112=y|");
    desk.session
        .send("B", now, |body| body.text(148, "five"))
        .unwrap();
    desk.sent();
    desk.wait(1_000);
    desk.receive("2", 4, "7=1|16=0|");
    let output = desk.session.output().to_vec();
    let original = format!(
        "52={}\x0156=TW\x01122={}\x01",
        time_text(at(1_000)),
        time_text(at(0))
    );
    assert!(String::from_utf8_lossy(&output).contains(&original));
    assert_eq!(
        desk.sent(),
        [
            "35=4|34=1|43=Y|36=2|123=Y|",
            "35=B|34=2|43=Y|148=two|",
            "35=4|34=3|43=Y|36=5|123=Y|",
            "35=B|34=5|43=Y|148=five|"
        ]
    );
    desk.receive("2", 5, "7=3|16=4|");
    assert_eq!(desk.sent(), ["35=4|34=3|43=Y|36=5|123=Y|"]);
    desk.receive("2", 6, "7=4|16=4|");
    assert_eq!(desk.sent(), ["35=4|34=4|43=Y|36=5|123=Y|"]);
    desk.receive("2", 7, "7=9|16=0|");
    assert_eq!(
        desk.sent(),
        ["35=3|34=6|45=7|58=Value is incorrect (out of range) for this tag|371=7|372=2|373=5|"]
    );
}

#[test]
fn scenario_10_gap_fills_by_their_number() {
    let mut desk = Desk::logged_on();
    desk.receive("4", 2, "36=10|123=Y|");
    assert_eq!(desk.next_incoming(), 10);
    desk.receive_again("4", 5, "36=20|123=Y|");
    assert_eq!(desk.next_incoming(), 10);
    assert!(desk.sent().is_empty());
    desk.receive("4", 12, "36=20|123=Y|");
    assert_eq!(desk.sent(), ["35=2|34=2|7=10|16=0|"]);
    desk.receive("4", 10, "36=10|123=Y|");
    assert_eq!(
        desk.sent(),
        ["35=3|34=3|45=10|58=Value is incorrect (out of range) for this tag|371=36|372=4|373=5|"]
    );
    desk.receive("4", 3, "36=20|123=Y|");
    assert!(desk
        .events()
        .contains(&"Disconnect(SequenceTooLow)".to_owned()));
}

#[test]
fn scenario_11_resets_whatever_their_number() {
    let mut desk = Desk::logged_on();
    desk.receive("4", 99, "36=50|");
    assert_eq!(desk.next_incoming(), 50);
    desk.receive("4", 1, "36=50|123=N|");
    assert_eq!(desk.next_incoming(), 50);
    assert!(desk.sent().is_empty());
    desk.receive("4", 50, "36=49|");
    assert_eq!(
        desk.sent(),
        ["35=3|34=2|45=50|58=Value is incorrect (out of range) for this tag|371=36|372=4|373=5|"]
    );
    assert_eq!(desk.next_incoming(), 50);
}

#[test]
fn scenario_12_we_log_out() {
    let mut desk = Desk::logged_on();
    let now = desk.now();
    desk.session.logout("closing", now).unwrap();
    assert_eq!(desk.sent(), ["35=5|34=2|58=closing|"]);
    let refused = desk.session.send("B", now, |body| body.text(148, "late"));
    assert!(matches!(refused, Err(SessionError::NotLoggedOn)));
    desk.receive("5", 2, "");
    assert_eq!(desk.events(), ["LoggedOut 5 2", "Disconnect(LoggedOut)"]);
    assert!(desk.sent().is_empty());
}

#[test]
fn scenario_12_a_logout_without_answer_ends_after_ten_seconds() {
    let mut desk = Desk::logged_on();
    desk.session.logout("", at(0)).unwrap();
    desk.wait(10_000);
    assert_eq!(desk.events(), ["Disconnect(LogoutTimeout)"]);
}

#[test]
fn scenario_13b_a_logout_is_answered() {
    for number in [2, 7] {
        let mut desk = Desk::logged_on();
        desk.receive("5", number, "58=bye|");
        assert_eq!(desk.sent(), ["35=5|34=2|"]);
        assert_eq!(
            desk.events(),
            [
                format!("LoggedOut 5 {number}"),
                "Disconnect(LoggedOut)".to_owned()
            ]
        );
    }
}

#[test]
fn scenario_20_both_sides_miss_messages() {
    let mut desk = Desk::logged_on();
    let now = desk.now();
    desk.session
        .send("B", now, |body| body.text(148, "lost"))
        .unwrap();
    desk.sent();
    desk.receive("2", 3, "7=2|16=0|");
    assert_eq!(
        desk.sent(),
        ["35=B|34=2|43=Y|148=lost|", "35=2|34=3|7=2|16=0|"]
    );
    desk.receive_again("D", 2, ORDER);
    desk.receive_again("4", 3, "36=4|123=Y|");
    assert_eq!(desk.next_incoming(), 4);
}

#[test]
fn a_message_that_cannot_be_written_uses_no_number() {
    let mut desk = Desk::logged_on();
    let now = desk.now();
    for bad in ["a\x01b", ""] {
        let result = desk.session.send("B", now, |body| body.text(148, bad));
        assert!(matches!(result, Err(SessionError::Encode(_))));
    }
    assert!(desk.session.output().is_empty());
    assert_eq!(
        desk.session
            .send("B", now, |body| body.text(148, "x"))
            .unwrap(),
        2
    );
    assert_eq!(desk.session.store().next_outgoing(), 3);
}

#[test]
fn an_acceptor_learns_whom_a_connection_is_from() {
    let desk = Desk::acceptor(Profile::fix44());
    let logon = desk.message("A", 1, "98=0|108=30|");
    let identity = Identity::of(&logon).unwrap().unwrap();
    assert_eq!(identity.begin_string, b"FIX.4.4");
    assert_eq!(identity.sender_comp_id, b"TW");
    assert_eq!(identity.target_comp_id, b"ISLD");
    assert_eq!(Identity::of(&logon[..logon.len() - 1]), Ok(None));
    assert!(Identity::of(b"GET / HTTP/1.1\r\n").is_err());
}

#[test]
fn output_is_given_out_in_the_portions_that_were_written() {
    let mut desk = Desk::acceptor(Profile::fix44());
    desk.receive("A", 1, "98=0|108=30|");
    let whole = desk.session.output().to_vec();
    desk.session.sent(10);
    assert_eq!(desk.session.output(), &whole[10..]);
    desk.session.sent(whole.len() - 10);
    assert!(desk.session.output().is_empty());
}

#[test]
fn bytes_fed_before_the_events_are_polled_lose_nothing() {
    let mut desk = Desk::logged_on();
    for number in 2..5 {
        let order = desk.message("D", number, ORDER);
        let (first, second) = order.split_at(40);
        desk.session.feed(first);
        let now = desk.now();
        desk.session.poll(now).unwrap();
        desk.session.feed(second);
    }
    desk.poll();
    assert_eq!(desk.next_incoming(), 5);
}
