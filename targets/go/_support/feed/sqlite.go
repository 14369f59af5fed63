package feed

import (
	"bytes"
	"database/sql"
	"os"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

const schema = `
PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL;
CREATE TABLE IF NOT EXISTS test_details (test_id INTEGER PRIMARY KEY, vps_id TEXT, connector_id TEXT, exchange_id TEXT,
                                         stream_id TEXT, stream_args TEXT, datetime_start INTEGER);
CREATE TABLE IF NOT EXISTS events (event_id INTEGER PRIMARY KEY, datetime_received INTEGER, event TEXT, received_ns INTEGER);
`

// sqlite is the sink of that name: each message is a row before the next one is received.
type sqlite struct {
	database *sql.DB
	insert   *sql.Stmt
}

func openSqlite(s settings) (sink, error) {
	database, err := sql.Open("sqlite3", s.output)
	if err != nil {
		return nil, err
	}
	database.SetMaxOpenConns(1) // the pragmas are a connection's
	if _, err := database.Exec(schema); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	_, err = database.Exec(`INSERT INTO test_details
		(vps_id, connector_id, exchange_id, stream_id, stream_args, datetime_start) VALUES (?, ?, ?, ?, ?, ?)`,
		host, s.target, s.exchange, s.stream, s.subscribe, time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	insert, err := database.Prepare(`INSERT INTO events (datetime_received, event, received_ns) VALUES (?, ?, ?)`)
	return &sqlite{database, insert}, err
}

func (s *sqlite) connected(Stamp) error {
	return nil
}

func (s *sqlite) message(at Stamp, message Message) error {
	var event any = message.Payload
	if !message.IsBinary {
		event = string(message.Payload)
	}
	_, err := s.insert.Exec(int64(at.unixMs), event, int64(at.monotonicNs))
	return err
}

func (s *sqlite) end(Stamp, string) error {
	return s.database.Close()
}

const waitingAtMost = 1 << 16 // messages; receiving waits when there are more

// sqliteBehind is the sink sqlite_behind: a goroutine of its own inserts what it is sent.
type sqliteBehind struct {
	waiting chan received
	outcome chan error
}

type received struct {
	at      Stamp
	message Message
}

func behind(inserter sink) sink {
	s := &sqliteBehind{make(chan received, waitingAtMost), make(chan error, 1)}
	go func() {
		for next := range s.waiting {
			if err := inserter.message(next.at, next.message); err != nil {
				s.outcome <- err
				return
			}
		}
		s.outcome <- inserter.end(Stamp{}, "")
	}()
	return s
}

func (s *sqliteBehind) connected(Stamp) error {
	return nil
}

func (s *sqliteBehind) message(at Stamp, message Message) error {
	message.Payload = bytes.Clone(message.Payload) // the library may use the memory again
	select {
	case s.waiting <- received{at, message}:
		return nil
	case err := <-s.outcome:
		return err
	}
}

func (s *sqliteBehind) end(Stamp, string) error {
	close(s.waiting)
	return <-s.outcome
}
