package grafanatest

import "maps"

// What people do to a Grafana besides.

// AddFolder makes a folder.
func (s *Server) AddFolder(uid, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.folders[uid] = s.folder(uid, title)
}

// Edit changes a field of a board, as somebody does who saves it in Grafana.
func (s *Server) Edit(uid, by, key string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boards[uid]
	c := maps.Clone(b.content)
	c[key] = value
	s.save(uid, b.folder, "", by, c)
}

// Save makes or changes a board, with the message of its history.
func (s *Server) Save(uid, folder, message string, content Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.save(uid, folder, message, "admin", content)
}

// Move puts a board into another folder.
func (s *Server) Move(uid, folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boards[uid].folder = folder
}

// FromFile says that a board comes from a file.
func (s *Server) FromFile(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.boards[uid].file = true
}

// SetSource sets a field of a data source, which is made if it is not there.
func (s *Server) SetSource(uid, key string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.sources[uid]
	if d == nil {
		d = Object{"id": s.number(), "uid": uid, "version": 1, "name": uid}
		s.sources[uid] = d
	}
	d[key] = value
	d["version"] = number(d["version"]) + 1
}

// SetSetting sets one of the settings of a data source.
func (s *Server) SetSetting(uid, key string, value any) {
	s.mu.Lock()
	settings := maps.Clone(s.sources[uid]["jsonData"].(Object))
	s.mu.Unlock()
	settings[key] = value
	s.SetSource(uid, "jsonData", settings)
}

// Source is a data source, nil if there is none.
func (s *Server) Source(uid string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.sources[uid])
}

// Secret is what was sent as a secret of a data source.
func (s *Server) Secret(uid, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets[uid][name]
}

// Board is what is in a board, and the UID of its folder; nil if there is none.
func (s *Server) Board(uid string) (content Object, folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.boards[uid]
	if b == nil {
		return nil, ""
	}
	return maps.Clone(b.content), b.folder
}
