// Package site is what stands behind Envoy in examples/browser: a page with two applications, and the frame of a
// third party that it embeds. Every backend serves all of it and says who it is.
package site

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

//go:embed files
var files embed.FS

// Answer is what an application answers.
type Answer struct {
	// Backend is the name of the backend.
	Backend string `json:"backend"`
	// Session identifies the session that the request belonged to, by a hash of its token; empty without one. The page
	// can't read the token itself.
	Session string `json:"session"`
}

// LogoutHeader is the response header that ends a session; the policies of the example name it.
const LogoutHeader = "X-Logout"

// Handler is the backend of that name. Every path without a dot is an application, such as /cart, with its session in
// the cookie __Host-cart; POST /cart/logout ends the session, and /cart/live is a WebSocket that answers each message.
func Handler(name string) http.Handler {
	content, err := fs.Sub(files, "files")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	static := http.FileServerFS(content)
	mux := http.NewServeMux()
	mux.HandleFunc("/{app}", func(w http.ResponseWriter, r *http.Request) {
		if app := r.PathValue("app"); strings.Contains(app, ".") {
			static.ServeHTTP(w, r)
		} else {
			answer(w, r, name, app)
		}
	})
	mux.HandleFunc("POST /{app}/logout", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(LogoutHeader, "yes")
		answer(w, r, name, r.PathValue("app"))
	})
	mux.HandleFunc("/{app}/live", func(w http.ResponseWriter, r *http.Request) { live(w, r, name) })
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Host, "chat.") {
			r.URL.Path = "/chat.html"
		}
		static.ServeHTTP(w, r)
	})
	return mux
}

func answer(w http.ResponseWriter, r *http.Request, name, app string) {
	a := Answer{Backend: name}
	if cookie, err := r.Cookie("__Host-" + app); err == nil {
		sum := sha256.Sum256([]byte(cookie.Value))
		a.Session = hex.EncodeToString(sum[:4])
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(a) // a browser that is gone needs no answer
}

// live answers every message with the backend's name.
func live(w http.ResponseWriter, r *http.Request, name string) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	for {
		if _, _, err = conn.Read(r.Context()); err != nil {
			return
		}
		if conn.Write(r.Context(), websocket.MessageText, []byte(name)) != nil {
			return
		}
	}
}
