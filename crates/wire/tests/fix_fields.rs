//! What a Reject says about the fields of a message: scenarios 2m to 2t, 3, 14, 15 and 21 of the FIX session test cases.

mod fix_desk;

use feedbench_wire::fix::dictionary::Dictionary;
use feedbench_wire::fix::field::{Field, FieldError, Fields};
use feedbench_wire::fix::message::{find, Message};
use feedbench_wire::fix::profile::Profile;
use fix_desk::{at, time_text, wire, Desk};

/// The message, and what the Reject says behind RefSeqNum; nothing when the message is accepted.
fn check(msg_type: &str, body: &str, reject: &str) {
    let mut desk = Desk::logged_on();
    desk.receive(msg_type, 2, body);
    if reject.is_empty() {
        assert_eq!(
            desk.events(),
            [format!("Application {msg_type} 2")],
            "{body}"
        );
    } else {
        assert_eq!(desk.sent(), [format!("35=3|34=2|45=2|{reject}")], "{body}");
    }
    assert_eq!(desk.next_incoming(), 3, "{body}");
    assert!(desk.session.is_logged_on(), "{body}");
}

const ORDER: &str = "11=c-1|38=10|40=1|54=1|55=X|60=20261121-14:30:00|";
const SNAPSHOT: &str = "55=X|268=2|269=0|270=1.5|269=1|270=1.6|271=3|";

#[test]
fn a_tag_has_at_most_nine_digits() {
    let first = |bytes: &'static [u8]| Fields::new(bytes).next();
    let longest = Field {
        tag: 999_999_999,
        value: b"x",
    };
    assert_eq!(first(b"999999999=x\x01"), Some(Ok(longest)));
    // The second is the first that no longer fits into 32 bits.
    for bytes in [
        &b"1000000000=x\x01"[..],
        b"4294967296=x\x01",
        b"9999999999=x\x01",
    ] {
        assert_eq!(first(bytes), Some(Err(FieldError::Tag(0))));
    }
}

#[test]
fn sound_messages_are_accepted() {
    check("D", ORDER, "");
    check("W", SNAPSHOT, "");
    check("V", "262=a|263=1|264=0|267=2|269=0|269=1|146=1|55=X|", "");
    check("X", "268=1|279=0|269=0|55=X|270=1|271=2|", "");
    check("D", &format!("{ORDER}5001=ours|"), "");
    check("D", &format!("{ORDER}93=3|89=a\x01b|"), "");
}

#[test]
fn scenario_2m_a_wrong_length_is_garbled() {
    for change in [-1, 1] {
        let mut desk = Desk::logged_on();
        let message = String::from_utf8(desk.message("D", 2, ORDER)).unwrap();
        let length: i64 = message.split('\x01').nth(1).unwrap()[2..].parse().unwrap();
        let wrong = message.replace(&format!("9={length}"), &format!("9={}", length + change));
        desk.receive_bytes(wrong.as_bytes());
        desk.receive("D", 2, ORDER);
        assert_eq!(desk.events(), ["Garbled(BodyEnd)", "Application D 2"]);
        assert!(desk.sent().is_empty());
    }
}

#[test]
fn scenario_2q_an_unknown_type_is_rejected() {
    check("ZZ", "58=x|", "58=Invalid MsgType|372=ZZ|373=11|");
    check("", "58=x|", "58=Invalid MsgType|373=11|");
}

#[test]
fn scenario_2r_a_type_that_the_application_does_not_serve() {
    let mut desk = Desk::logged_on();
    desk.receive("f", 2, "55=X|");
    assert_eq!(desk.events(), ["Application f 2"]);
    let now = desk.now();
    desk.session.reject_unsupported(2, "f", now).unwrap();
    assert_eq!(
        desk.sent(),
        ["35=j|34=2|45=2|58=Unsupported Message Type|372=f|380=3|"]
    );
}

#[test]
fn scenario_2t_the_first_three_fields_have_their_order() {
    let mut desk = Desk::logged_on();
    let time = time_text(at(0));
    let fields = format!("34=2|35=0|49=TW|52={time}|56=ISLD|");
    desk.receive_bytes(&wire("FIX.4.4", &fields));
    assert_eq!(desk.events(), ["Garbled(MsgType)"]);
    assert!(desk.sent().is_empty());
    assert_eq!(desk.next_incoming(), 2);
}

#[test]
fn scenario_14a_a_tag_that_does_not_exist() {
    check(
        "D",
        &format!("{ORDER}4999=x|"),
        "58=Invalid tag number|371=4999|372=D|373=0|",
    );
    for bad in [
        "x=1|",
        "=1|",
        "0=1|",
        "-1=1|",
        "01=1|",
        "1234567890=1|",
        "novalue|",
    ] {
        check(
            "D",
            &format!("{ORDER}{bad}"),
            "58=Invalid tag number|372=D|373=0|",
        );
    }
}

#[test]
fn scenario_14b_a_required_tag_is_missing() {
    check(
        "D",
        "38=10|40=1|54=1|55=X|60=20261121-14:30:00|",
        "58=Required tag missing|371=11|372=D|373=1|",
    );
    check("1", "", "58=Required tag missing|371=112|372=1|373=1|");
    check("W", "55=X|268=1|269=0|", "");
    check(
        "V",
        "262=a|263=1|264=0|267=1|269=0|",
        "58=Required tag missing|371=146|372=V|373=1|",
    );
    check(
        "8",
        "37=1|17=1|150=0|39=0|55=X|54=1|151=0|14=0|",
        "58=Required tag missing|371=6|372=8|373=1|",
    );
}

#[test]
fn scenario_14b_a_header_without_names() {
    let mut desk = Desk::logged_on();
    let time = time_text(at(0));
    desk.receive_fields(&format!("35=0|34=2|49=TW|52={time}|"));
    assert_eq!(
        desk.sent(),
        ["35=3|34=2|45=2|58=Required tag missing|371=56|372=0|373=1|"]
    );
}

#[test]
fn scenario_14c_a_tag_of_another_message() {
    check(
        "D",
        &format!("{ORDER}262=a|"),
        "58=Tag not defined for this message type|371=262|372=D|373=2|",
    );
}

#[test]
fn scenario_14d_a_tag_without_value() {
    check(
        "D",
        &ORDER.replace("55=X", "55="),
        "58=Tag specified without a value|371=55|372=D|373=4|",
    );
}

#[test]
fn scenario_14e_a_value_that_is_not_allowed() {
    check(
        "D",
        &ORDER.replace("54=1", "54=Z"),
        "58=Value is incorrect (out of range) for this tag|371=54|372=D|373=5|",
    );
}

#[test]
fn scenario_14f_a_value_of_another_form() {
    for (from, to, tag) in [
        ("38=10", "38=ten", 38),
        ("38=10", "38=1e3", 38),
        ("60=20261121-14:30:00", "60=20261131-14:30:00", 60),
        ("60=20261121-14:30:00", "60=20261121 14:30:00", 60),
        ("54=1", "54=11", 54),
    ] {
        check(
            "D",
            &ORDER.replace(from, to),
            &format!("58=Incorrect data format for value|371={tag}|372=D|373=6|"),
        );
    }
}

#[test]
fn scenario_14g_header_body_trailer() {
    check(
        "D",
        &format!("{ORDER}97=Y|"),
        "58=Tag specified out of required order|371=97|372=D|373=14|",
    );
    check(
        "D",
        &format!("93=1|89=x|{ORDER}"),
        "58=Tag specified out of required order|371=11|372=D|373=14|",
    );
}

#[test]
fn scenario_14h_a_tag_twice() {
    check(
        "D",
        &format!("{ORDER}55=Y|"),
        "58=Tag appears more than once|371=55|372=D|373=13|",
    );
    check(
        "W",
        "55=X|268=1|269=0|270=1|270=2|",
        "58=Tag appears more than once|371=270|372=W|373=13|",
    );
}

#[test]
fn scenario_14i_a_group_of_another_count() {
    for count in ["1", "3"] {
        check(
            "W",
            &SNAPSHOT.replace("268=2", &format!("268={count}")),
            "58=Incorrect NumInGroup count for repeating group|371=268|372=W|373=16|",
        );
    }
}

#[test]
fn scenario_14j_a_group_that_does_not_begin_with_its_first_field() {
    check(
        "W",
        "55=X|268=1|270=1.5|269=0|",
        "58=Repeating group fields out of order|371=270|372=W|373=15|",
    );
}

#[test]
fn scenario_14n_a_separator_in_a_value() {
    check("B", "148=one\x01two|", "58=Invalid tag number|372=B|373=0|");
    for length in [2, 5] {
        check(
            "D",
            &format!("{ORDER}93={length}|89=a\x01b|"),
            "58=Incorrect data format for value|371=89|372=D|373=6|",
        );
    }
}

#[test]
fn scenario_15_header_and_body_in_any_order() {
    let mut desk = Desk::logged_on();
    let time = time_text(at(0));
    desk.receive_fields(&format!(
        "35=D|56=ISLD|52={time}|49=TW|34=2|60=20261121-14:30:00|55=X|54=1|40=1|38=10|11=c|"
    ));
    assert_eq!(desk.events(), ["Application D 2"]);
}

#[test]
fn scenario_21_a_group_without_entries() {
    check("W", "55=X|268=0|", "");
}

#[test]
fn older_versions_do_not_get_reasons_that_they_do_not_know() {
    let mut desk = Desk::acceptor(Profile::fix42());
    desk.receive("A", 1, "98=0|108=30|");
    desk.sent();
    desk.receive("D", 2, &format!("{ORDER}55=Y|"));
    assert_eq!(
        desk.sent(),
        ["35=3|34=2|45=2|58=Tag appears more than once|371=55|372=D|"]
    );
}

#[test]
fn entries_of_a_group_are_read_one_by_one() {
    let bytes = wire(
        "FIX.4.4",
        &format!("35=W|34=1|{SNAPSHOT}60=20261121-14:30:00|"),
    );
    let (message, _) = Message::parse(&bytes).unwrap().unwrap();
    let rule = Dictionary::standard().message(b"W").unwrap();
    let entries: Vec<_> = message
        .entries(rule.group(268).unwrap())
        .map(|entry| (find(entry.clone(), 270), find(entry, 271)))
        .collect();
    assert_eq!(
        entries,
        [
            (Some(&b"1.5"[..]), None),
            (Some(&b"1.6"[..]), Some(&b"3"[..]))
        ]
    );
}

#[test]
fn shipped_dictionaries_are_sound() {
    for dictionary in [
        Dictionary::standard(),
        Dictionary::fixt(),
        Dictionary::binance(),
    ] {
        assert!(dictionary.message(b"A").is_some());
        assert_eq!(dictionary.field(269).unwrap().name, "MDEntryType");
    }
}

#[test]
fn a_line_that_is_no_statement_is_named() {
    for (line, what) in [
        ("word 1", "the first word"),
        ("field", "a word is missing"),
        ("field x Name INT", "its number"),
        ("field 1", "name is missing"),
        ("field 1 Name NUMBER", "type is unknown"),
        ("message A 1", "no line gives this field a name"),
        ("message A 1(", "closing bracket"),
        ("message A 1()", "closing bracket"),
        ("message A )", "not opened"),
        ("message A x", "a member is a field's number"),
    ] {
        let error = Dictionary::parse(&[line]).unwrap_err().to_string();
        assert!(error.contains(what), "{line}: {error}");
    }
}

#[test]
fn a_group_entry_lacks_a_required_field() {
    let dictionary = Dictionary::parse(&[
        "field 34 MsgSeqNum UNSIGNED\nfield 35 MsgType STRING\nfield 49 SenderCompID STRING",
        "field 52 SendingTime UTCTIMESTAMP\nfield 56 TargetCompID STRING",
        "field 98 EncryptMethod INT\nfield 108 HeartBtInt INT",
        "field 268 NoMDEntries UNSIGNED\nfield 269 MDEntryType CHAR\nfield 270 MDEntryPx DECIMAL",
        "header 34! 35! 49! 52! 56!\nmessage A 98! 108!\nmessage W 268!(269! 270!)",
    ])
    .unwrap();
    let mut desk = Desk::acceptor(Profile {
        dictionary: Box::leak(Box::new(dictionary)),
        ..Profile::fix44()
    });
    desk.receive("A", 1, "98=0|108=30|");
    desk.receive("W", 2, "268=2|269=0|270=1|269=1|270=2|");
    assert_eq!(desk.events(), ["LoggedOn", "Application W 2"]);
    desk.sent();
    desk.receive("W", 3, "268=2|269=0|270=1|269=1|");
    assert_eq!(
        desk.sent(),
        ["35=3|34=2|45=3|58=Required tag missing|371=270|372=W|373=1|"]
    );
}
