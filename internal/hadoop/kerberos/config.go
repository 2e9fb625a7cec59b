package kerberos

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
)

const (
	configVariable = "KRB5_CONFIG"
	defaultConfig  = "/etc/krb5.conf"
	// maxIncludes limits the nesting of include and includedir directives.
	maxIncludes = 10
)

// settings are the settings in krb5.conf.
type settings struct {
	files     []string // the files that were read, except included files
	cacheName string   // default_ccache_name, in which parameters such as %{uid} are not replaced
	kcmSocket string   // kcm_socket
	library   *config.Config

	canonicalize bool // dns_canonicalize_hostname is not false: DNS may tell other names of a host
	reverse      bool // rdns is not false: among these names are those of the host's IP addresses
}

// loadSettings reads krb5.conf files and the files that they include. files lists the paths of
// the krb5.conf files, separated by colons. If files is "", loadSettings uses the list in
// KRB5_CONFIG or, if KRB5_CONFIG is not set, /etc/krb5.conf.
func loadSettings(files string) (*settings, error) {
	from := "given"
	if files == "" {
		files, from = os.Getenv(configVariable), configVariable
	}
	if files == "" {
		files, from = defaultConfig, "the default"
	}
	names := strings.Split(files, string(os.PathListSeparator))
	lines := &sections{byName: map[string][]string{}}
	s := &settings{}
	for _, name := range names {
		switch err := lines.read(name, 0); {
		case err == nil:
			s.files = append(s.files, name)
		case errors.Is(err, fs.ErrNotExist) && len(names) > 1:
		default:
			return nil, fmt.Errorf("the configuration of Kerberos (%s): %w", from, err)
		}
	}
	canonicalize, reverse := lines.take("dns_canonicalize_hostname"), lines.take("rdns")
	s.canonicalize, s.reverse = !isFalse(canonicalize), !isFalse(reverse)
	var err error
	if s.library, err = parseConfig(lines.text()); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(s.files, ", "), err)
	}
	s.library.LibDefaults.DefaultTGSEnctypeIDs = lines.encryptionTypes("default_tgs_enctypes")
	s.library.LibDefaults.DefaultTktEnctypeIDs = lines.encryptionTypes("default_tkt_enctypes")
	s.cacheName, s.kcmSocket = lines.value("default_ccache_name"), lines.value("kcm_socket")
	if lines.value("dns_lookup_kdc") == "" {
		s.library.LibDefaults.DNSLookupKDC = true // the default of MIT's library
	}
	return s, nil
}

// parseConfig parses the text of a krb5.conf that includes no files. gokrb5 panics at some
// malformed lines; parseConfig returns an error instead.
func parseConfig(text string) (library *config.Config, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			library, err = nil, fmt.Errorf("malformed: %v", reason)
		}
	}()
	library, err = config.NewFromString(text)
	var unsupported config.UnsupportedDirective
	if errors.As(err, &unsupported) {
		err = nil
	}
	return library, err
}

// sections merges the sections of several krb5.conf files, because gokrb5 reads only one file
// and, of several sections with the same name, only the last one.
type sections struct {
	names  []string
	byName map[string][]string
}

var (
	sectionLine = regexp.MustCompile(`^\[([^\]]+)\]\*?\s*$`)
	includeName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

func (s *sections) read(name string, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s: more than %d files include one another", name, maxIncludes)
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return s.parse(name, file, depth)
}

// parse adds the lines of a file, and of the files that it includes, to s.
func (s *sections) parse(name string, content io.Reader, depth int) error {
	scanner := bufio.NewScanner(content)
	section := ""
	nested := 0 // number of open braces within libdefaults
	for scanner.Scan() {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if match := sectionLine.FindStringSubmatch(line); match != nil {
			section = strings.ToLower(match[1])
			if _, known := s.byName[section]; !known {
				s.names = append(s.names, section)
				s.byName[section] = nil
			}
			continue
		}
		if directive, operand, _ := strings.Cut(line, " "); section == "" || directive == "include" || directive == "includedir" {
			if err := s.include(directive, strings.TrimSpace(operand), depth); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			continue
		}
		if section == "libdefaults" {
			// Skip blocks in braces, which are settings for one realm or application. gokrb5
			// rejects them in libdefaults.
			switch {
			case strings.HasSuffix(line, "{"):
				nested++
				continue
			case nested > 0:
				if line[0] == '}' {
					nested--
				}
				continue
			}
			// Store only the first value of a key: MIT's library uses the first value, but
			// gokrb5 the last.
			if key, _, _ := strings.Cut(line, "="); s.find(strings.TrimSpace(key)) >= 0 {
				continue
			}
		}
		s.byName[section] = append(s.byName[section], line)
	}
	return scanner.Err()
}

// include executes the directives include and includedir. It ignores other directives, such as
// module, which can precede the first section.
func (s *sections) include(directive, operand string, depth int) error {
	switch directive {
	case "include":
		return s.read(operand, depth+1)
	case "includedir":
		entries, err := os.ReadDir(operand)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, entry := range entries {
			// Ignore files with other names, such as backups of editors.
			if includeName.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".conf") && entry.Name()[0] != '.' {
				if err := s.read(filepath.Join(operand, entry.Name()), depth+1); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// text returns the sections as one file.
func (s *sections) text() string {
	var b strings.Builder
	for _, name := range s.names {
		b.WriteString("[" + name + "]\n")
		for _, line := range s.byName[name] {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// find returns the index of a key's line in libdefaults, or -1.
func (s *sections) find(key string) int {
	return slices.IndexFunc(s.byName["libdefaults"], func(line string) bool {
		name, _, found := strings.Cut(line, "=")
		return found && strings.EqualFold(strings.TrimSpace(name), key)
	})
}

// value returns the value of a key in libdefaults, or "" if the key is not set.
func (s *sections) value(key string) string {
	at := s.find(key)
	if at < 0 {
		return ""
	}
	_, value, _ := strings.Cut(s.byName["libdefaults"][at], "=")
	return strings.TrimSpace(value)
}

// take is like value, and removes the key. gokrb5 rejects some values that MIT's library accepts.
func (s *sections) take(key string) string {
	value := s.value(key)
	if at := s.find(key); at >= 0 {
		s.byName["libdefaults"] = slices.Delete(s.byName["libdefaults"], at, at+1)
	}
	return value
}

// isFalse reports whether a value in krb5.conf is one of MIT's words for false.
func isFalse(value string) bool {
	return slices.Contains([]string{"n", "no", "false", "nil", "0", "off"}, strings.ToLower(value))
}

// aesTypes are the encryption types that krb5.conf can enable for a Client, in MIT's default
// order, with the names that krb5.conf may use for them. Other types in krb5.conf are ignored.
var aesTypes = []struct {
	id    int32
	names []string
}{
	{etypeID.AES256_CTS_HMAC_SHA1_96, []string{"aes256-cts-hmac-sha1-96", "aes256-cts", "aes256-sha1", "aes", "default"}},
	{etypeID.AES128_CTS_HMAC_SHA1_96, []string{"aes128-cts-hmac-sha1-96", "aes128-cts", "aes128-sha1", "aes", "default"}},
	{etypeID.AES256_CTS_HMAC_SHA384_192, []string{"aes256-cts-hmac-sha384-192", "aes256-sha2", "aes", "default"}},
	{etypeID.AES128_CTS_HMAC_SHA256_128, []string{"aes128-cts-hmac-sha256-128", "aes128-sha2", "aes", "default"}},
}

// encryptionTypes returns the AES types in the value of key in libdefaults or, if key is not
// set, in the value of permitted_enctypes. It returns all AES types if neither key is set, or
// if the value contains no AES type.
func (s *sections) encryptionTypes(key string) (ids []int32) {
	list := cmp.Or(s.value(key), s.value("permitted_enctypes"))
	for _, word := range strings.FieldsFunc(strings.ToLower(list), func(r rune) bool { return r == ' ' || r == '\t' || r == ',' }) {
		name, without := strings.CutPrefix(word, "-")
		for _, kind := range aesTypes {
			switch {
			case !slices.Contains(kind.names, strings.TrimPrefix(name, "+")):
			case without:
				ids = slices.DeleteFunc(ids, func(id int32) bool { return id == kind.id })
			case !slices.Contains(ids, kind.id):
				ids = append(ids, kind.id)
			}
		}
	}
	if len(ids) == 0 {
		for _, kind := range aesTypes {
			ids = append(ids, kind.id)
		}
	}
	return ids
}
