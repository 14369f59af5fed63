package feed

// A sink keeps what was received. With its last record it is with the kernel.
type sink interface {
	connected(at Stamp) error
	message(at Stamp, message Message) error
	end(at Stamp, reason string) error
}

func openSink(s settings) sink {
	var opened sink
	var err error
	switch s.sink {
	case "none":
		return nowhere{}
	case "stamps":
		opened, err = openStamps(s.output)
	default:
		opened, err = openSqlite(s)
	}
	if err != nil {
		fail(failed, "cannot write %s: %v", s.output, plain(err))
	}
	if s.sink == "sqlite_behind" {
		return behind(opened)
	}
	return opened
}

type nowhere struct{}

func (nowhere) connected(Stamp) error        { return nil }
func (nowhere) message(Stamp, Message) error { return nil }
func (nowhere) end(Stamp, string) error      { return nil }
