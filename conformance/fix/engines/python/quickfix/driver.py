"""QuickFIX as it comes from the registry: an initiator that subscribes, or an acceptor that is subscribed to.

Prints a JSON object a line: each MarketDataIncrementalRefresh that it got or sent, and at the end what its
session did.
"""

import argparse
import json
import sys
import tempfile
import threading
from pathlib import Path

import quickfix

ENTRY_TAGS = [279, 269, 278, 55, 270, 271, 272, 273]
DICTIONARY = Path(sys.prefix) / "share" / "quickfix" / "FIX44.xml"
SETTINGS = """[DEFAULT]
ConnectionType={kind}
HeartBtInt=30
ReconnectInterval=1
SocketConnectHost=127.0.0.1
SocketConnectPort={port}
SocketAcceptPort={port}
SocketReuseAddress=Y
SocketNodelay=Y
StartTime=00:00:00
EndTime=00:00:00
UseDataDictionary=Y
DataDictionary={dictionary}
ResetOnLogon=Y
FileStorePath={store}
[SESSION]
BeginString=FIX.4.4
SenderCompID={sender}
TargetCompID={target}
"""


class Application(quickfix.Application):
    """Counts what the session does."""

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self.wanted = wanted
        self.got = 0
        self.resend_requests_sent = 0
        self.resend_requests_received = 0
        self.rejects = 0
        self.snapshots = 0
        self.session: quickfix.SessionID | None = None
        self.logged_on = threading.Event()
        self.logged_out = threading.Event()
        self.done = threading.Event()
        self.served = threading.Event()
        self.resent = threading.Event()

    def onCreate(self, session):  # noqa: N802 - QuickFIX's name
        self.session = session

    def onLogon(self, session):  # noqa: N802
        self.logged_on.set()

    def onLogout(self, session):  # noqa: N802
        self.logged_out.set()

    def toAdmin(self, message, session):  # noqa: N802
        self.resend_requests_sent += kind(message) == "2"
        self.rejects += kind(message) == "3"

    def fromAdmin(self, message, session):  # noqa: N802
        self.resend_requests_received += kind(message) == "2"
        self.rejects += kind(message) == "3"

    def toApp(self, message, session):  # noqa: N802
        self.rejects += kind(message) == "j"
        if message.getHeader().isSetField(43):
            self.resent.set()

    def fromApp(self, message, session):  # noqa: N802
        if kind(message) == "W":
            self.snapshots += 1
        elif kind(message) == "X":
            if self.got < self.wanted:
                tell({"kind": "X", "entries": entries(message)})
                self.got += 1
            if self.got == self.wanted:
                self.done.set()
        elif kind(message) == "V":
            # On another thread: the session is busy with this message.
            threading.Thread(target=serve, args=(self, value(message, 262)), daemon=True).start()


def tell(claim):
    # In one write: several threads have something to tell.
    sys.stdout.write(json.dumps(claim) + "\n")


def kind(message):
    return message.getHeader().getField(35)


def value(message, tag):
    return message.getField(tag)


def entries(message):
    found = []
    for number in range(1, int(value(message, 268)) + 1):
        group = quickfix.Group(268, 279)
        message.getGroup(number, group)
        found.append({tag: group.getField(tag) for tag in ENTRY_TAGS if group.isSetField(tag)})
    return found


def request():
    message = quickfix.Message()
    message.getHeader().setField(35, "V")
    for tag, text in [(262, "1"), (263, "1"), (264, "0"), (265, "1")]:
        message.setField(tag, text)
    for entry_type in "012":
        group = quickfix.Group(267, 269)
        group.setField(269, entry_type)
        message.addGroup(group)
    group = quickfix.Group(146, 55)
    group.setField(55, "BTC/USD")
    message.addGroup(group)
    return message


def market_data(kind, id_, price):
    message = quickfix.Message()
    message.getHeader().setField(35, kind)
    message.setField(262, id_)
    if kind == "W":
        message.setField(55, "BTC/USD")
    group = quickfix.Group(268, 269 if kind == "W" else 279)
    if kind == "X":
        group.setField(279, "0")
    for tag, text in [(269, "0"), (55, "BTC/USD"), (270, f"{price}.25"), (271, "1")]:
        if not (kind == "W" and tag == 55):
            group.setField(tag, text)
    message.addGroup(group)
    return message


def serve(application, id_):
    """A snapshot, and changes; in the middle the numbers make a leap, which a client must take for a gap."""
    session = quickfix.Session.lookupSession(application.session)
    session.send(market_data("W", id_, 1))
    for number in range(application.wanted):
        if number == application.wanted // 2:
            session.setNextSenderMsgSeqNum(session.getExpectedSenderNum() + 5)
        message = market_data("X", id_, number)
        session.send(message)
        tell({"kind": "X", "entries": entries(message)})
        if number == application.wanted // 2:
            # A message that left while another thread sends it again would come with its number used up.
            application.resent.wait()
    application.served.set()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("initiator", "acceptor"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--messages", type=int, required=True)
    parser.add_argument("--deadline-s", type=float, default=120)
    options = parser.parse_args()
    initiates = options.role == "initiator"
    sender, target = ("QFPYTHON", "FEEDBENCH") if initiates else ("QFPYTHON", "CLIENT")
    folder = tempfile.TemporaryDirectory()
    text = SETTINGS.format(
        kind=options.role,
        port=options.port,
        dictionary=DICTIONARY,
        sender=sender,
        target=target,
        store=folder.name,
    )
    path = Path(folder.name) / "settings.cfg"
    path.write_text(text)
    settings = quickfix.SessionSettings(str(path))
    application = Application(options.messages)
    # Its store in memory finds nothing to send again when the first number of a range was never used.
    store = quickfix.FileStoreFactory(settings)
    engine = quickfix.SocketInitiator if initiates else quickfix.SocketAcceptor
    running = engine(application, store, settings)
    running.start()
    if initiates:
        if application.logged_on.wait(options.deadline_s):
            quickfix.Session.sendToTarget(request(), application.session)
            application.done.wait(options.deadline_s)
        quickfix.Session.lookupSession(application.session).logout()
    else:
        tell({"kind": "ready"})
        sys.stdout.flush()
        application.served.wait(options.deadline_s)
    application.logged_out.wait(options.deadline_s)
    end = {
        "kind": "end",
        "logged_on": application.logged_on.is_set(),
        "logged_out": application.logged_out.is_set(),
        "snapshots": application.snapshots,
        "resend_requests": application.resend_requests_sent + application.resend_requests_received,
        "rejects": application.rejects,
    }
    tell(end)
    sys.stdout.flush()
    running.stop(True)
    folder.cleanup()


main()
