package ui

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// ListedApplication is an entry in the list of applications that Index serves.
type ListedApplication struct {
	ID, Name, User string
	Attempt        int
	State          string
	Started        time.Time
	Written        time.Time // when the application's event log was last written
	Link           string    // URL of the application's pages
}

// Index returns the handler of a page that lists applications. For each request, it calls list,
// which returns the applications that the user may see.
func Index(title string, list func(r *http.Request) ([]ListedApplication, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		values := r.URL.Query()
		if values.Has("asset") {
			serveAsset(w, values.Get("asset"))
			return
		}
		all, err := list(r)
		if err != nil {
			http.Error(w, "The applications cannot be listed: "+visible(err.Error()), http.StatusInternalServerError)
			return
		}
		l := layout{
			content:     content{Title: "Applications", Sections: []section{{ID: "applications", Table: indexTable(query{values}, all)}}},
			Application: title, AsOf: moment(time.Now()), Icon: assets["icon.svg"].link, Style: assets["ui.css"].link, Scripts: []string{assets["ui.js"].link},
		}
		var page bytes.Buffer
		if err := pages.ExecuteTemplate(&page, "page", l); err != nil {
			http.Error(w, "The page cannot be shown: "+err.Error(), http.StatusInternalServerError)
			return
		}
		write(w, http.StatusOK, "text/html; charset=utf-8", page.Bytes())
	})
}

func indexTable(q query, all []ListedApplication) *table {
	return tableOf(q, "applications", "Applications", "There is no application that you may see.", all, func(a ListedApplication) string { return fmt.Sprintf("%s-%d", a.ID, a.Attempt) }, []column[ListedApplication]{
		{Name: "Application", Compare: byText(func(a ListedApplication) string { return a.ID }), Cells: func(a ListedApplication) []cell { return []cell{linked(a.ID, a.Link)} }},
		{Name: "Attempt", Number: true, Cells: func(a ListedApplication) []cell { return []cell{number(a.Attempt)} }},
		{Name: "Name", Compare: byText(func(a ListedApplication) string { return a.Name }), Cells: func(a ListedApplication) []cell { return []cell{text(a.Name)} }},
		{Name: "User", Compare: byText(func(a ListedApplication) string { return a.User }), Cells: func(a ListedApplication) []cell { return []cell{text(a.User)} }},
		{Name: "State", Compare: byText(func(a ListedApplication) string { return a.State }), Cells: func(a ListedApplication) []cell { return []cell{stateCell(a.State)} }},
		{Name: "Started", Compare: func(a, b ListedApplication) int { return a.Started.Compare(b.Started) }, Cells: func(a ListedApplication) []cell { return []cell{text(moment(a.Started))} }},
		{Name: "Written", Hint: "When its log was last written", Compare: func(a, b ListedApplication) int { return a.Written.Compare(b.Written) }, Cells: func(a ListedApplication) []cell { return []cell{text(moment(a.Written))} }},
	})
}
