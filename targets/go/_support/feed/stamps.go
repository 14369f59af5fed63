package feed

import (
	"encoding/binary"
	"os"
)

const (
	kindText = iota + 1
	kindBinary
	kindConnected
	kindEnd
	kindAnswer
)

const version = 1

// stamps is the sink of that name: one write to the kernel for each message.
type stamps struct {
	file   *os.File
	record []byte // the last one's memory, used again
}

func openStamps(path string) (*stamps, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if about.Size() == 0 {
		header := binary.LittleEndian.AppendUint64([]byte("FBSTAMPS"), version) // four bytes, and four of zero
		_, err = file.Write(header)
	}
	return &stamps{file: file}, err
}

func (s *stamps) connected(at Stamp) error {
	return s.write(at, kindConnected, nil)
}

func (s *stamps) message(at Stamp, message Message) error {
	if message.IsBinary {
		return s.write(at, kindBinary, message.Payload)
	}
	return s.write(at, kindText, message.Payload)
}

func (s *stamps) end(at Stamp, reason string) error {
	return s.write(at, kindEnd, []byte(reason))
}

func (s *stamps) write(at Stamp, kind uint32, payload []byte) error {
	s.record = binary.LittleEndian.AppendUint64(s.record[:0], at.monotonicNs)
	s.record = binary.LittleEndian.AppendUint64(s.record, at.unixMs)
	s.record = binary.LittleEndian.AppendUint32(s.record, uint32(len(payload)))
	s.record = binary.LittleEndian.AppendUint32(s.record, kind) // one byte, and three of zero
	s.record = append(s.record, payload...)
	_, err := s.file.Write(s.record)
	return err
}
