package support

import (
	"encoding/json"
	"errors"
	"time"
)

type stampRequest struct {
	Count *int64 `json:"c"`
}

type stampMessage struct {
	Count     int64 `json:"c"`
	Timestamp int64 `json:"ts"`
}

// StampGreeting is what a stamp server says on connecting.
func StampGreeting() []byte {
	return stamped(0)
}

// StampAnswer is the answer to {"c":n}; an error for anything else, after which the connection should end.
func StampAnswer(message []byte) ([]byte, error) {
	var request stampRequest
	if err := json.Unmarshal(message, &request); err != nil {
		return nil, err
	}
	if request.Count == nil {
		return nil, errors.New(`no "c"`)
	}
	return stamped(*request.Count), nil
}

func stamped(count int64) []byte {
	encoded, err := json.Marshal(stampMessage{count, time.Now().Unix()})
	if err != nil {
		panic(err) // two integers always have a JSON form
	}
	return encoded
}
