package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/bench/internal/rig"
	"github.com/limpet-proxy/limpet/internal/load"
	"github.com/limpet-proxy/limpet/token"
)

// verified is how many requests of each traffic are looked at closely before anything is measured.
const verified = 64

// verify makes sure that a contestant does its job: it sends each pinned request to its host, and issues good tokens to
// the others. What would not be a session would be cheap.
func (c cell) verify(e *rig.Envoy, t requestMix, scope *token.Scope) error {
	var errs []error
	var bad firstError
	err := load.Send(e.Address(c.contestant), verified,
		func(i int, buf []byte) []byte { return append(buf, t.pool[i%len(t.pool)].bytes()...) },
		func(i int, head load.Head) {
			if err := c.checkAnswer(t, t.pool[i%len(t.pool)], head, scope); err != nil {
				bad.set(fmt.Errorf("request %d: %w: %s", i, err, head))
			}
		})
	if errs = append(errs, err, bad.get()); errors.Join(errs...) != nil {
		return fmt.Errorf("%s: %w", c, errors.Join(errs...))
	}
	return nil
}

// checkAnswer looks at one answer.
func (c cell) checkAnswer(t requestMix, r request, head load.Head, scope *token.Scope) error {
	response, err := head.Response()
	if err != nil {
		return err
	}
	host := response.Header.Get(rig.BackendHeader)
	issued := response.Header.Get("Set-Cookie")
	switch {
	case response.StatusCode != http.StatusOK:
		return errors.New("not 200")
	case c.contestant == rig.None || c.contestant == rig.TinyGo || c.contestant == rig.NativeEmpty:
		return nil
	case r.host != "" && host != r.host:
		return fmt.Errorf("answered by %s instead of %s", host, r.host)
	case response.Header.Get("x-limpet-pin") != "":
		return errors.New("the pin header reached the client")
	case t.issues != (issued != ""):
		return fmt.Errorf("issued %q", issued)
	case t.issues && c.signs():
		return genuine(issued, host, scope)
	}
	return nil
}

// genuine opens an issued token with limpet's own code.
func genuine(setCookie, host string, scope *token.Scope) error {
	value, _, _ := strings.Cut(strings.TrimPrefix(setCookie, "cart="), ";")
	session, verdict := scope.Open(value, time.Now().Unix())
	if verdict != token.Valid || session.Host.String() != host {
		return fmt.Errorf("the token %q is %v, for %v", value, verdict, session.Host)
	}
	return nil
}
