package kerberos

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

// vectorsFile contains the messages of a JDK as the server of a context
// (testdata/Acceptor.java).
const vectorsFile = "testdata/jdk.json"

var recordVectors = flag.Bool("jdk", false, "talk to a JDK, and write "+vectorsFile)

// vector is a context whose server was a JDK, and the messages that the client and the server
// sent.
type vector struct {
	Encryption string    // name of the session key's type
	Type       int32     // number of the session key's type
	SessionKey hexBytes  // the ticket's session key
	Subkey     hexBytes  // the key that the client chose
	Time       time.Time // time in the client's authenticator
	Sequence   int64     // the client's first sequence number
	Answer     hexBytes  // the server's token for Establish
	Received   []message // from the JDK to this package
	Sent       []message // from this package to the JDK, not sealed; the JDK accepted them
}

type message struct {
	Text   string
	Sealed bool
	Token  hexBytes
}

type hexBytes []byte

func (h hexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

func loadVectors(t testing.TB) (vectors []vector) {
	content, err := os.ReadFile(vectorsFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(content, &vectors))
	require.NotEmpty(t, vectors)
	return vectors
}

// initiator returns the client's context before Establish.
func (v vector) initiator(testing.TB) *Context {
	return &Context{
		service: "nn/host", sessionKey: types.EncryptionKey{KeyType: v.Type, KeyValue: v.SessionKey},
		authenticator: types.Authenticator{
			CTime: v.Time.Truncate(time.Second), Cusec: v.Time.Nanosecond() / 1000, SeqNumber: v.Sequence,
			SubKey: types.EncryptionKey{KeyType: v.Type, KeyValue: v.Subkey},
		},
	}
}

// context returns the client's context after Establish.
func (v vector) context(t testing.TB) *Context {
	x := v.initiator(t)
	require.NoError(t, x.Establish(v.Answer))
	return x
}

func TestMessagesOfAJDK(t *testing.T) {
	if *recordVectors {
		record(t)
	}
	encryptions := map[string]bool{}
	for _, v := range loadVectors(t) {
		t.Run(v.Encryption, func(t *testing.T) {
			encryptions[v.Encryption] = true
			x := v.context(t)
			for _, m := range v.Received {
				text, sealed, err := x.Unwrap(m.Token)
				require.NoError(t, err)
				require.Equal(t, m.Text, string(text))
				require.Equal(t, m.Sealed, sealed)
			}
			for _, m := range v.Sent {
				token, err := x.Wrap([]byte(m.Text), false)
				require.NoError(t, err)
				require.Equal(t, hex.EncodeToString(m.Token), hex.EncodeToString(token))
			}
		})
	}
	require.Len(t, encryptions, len(jdkEncryptions))
}

// openWith logs bob in, with a krb5.conf that allows only one encryption type for the keys of
// service tickets.
func openWith(t *testing.T, kdc *kdctest.KDC, keytab, encryption string) *Client {
	config := filepath.Join(t.TempDir(), "krb5.conf")
	require.NoError(t, os.WriteFile(config, []byte("[libdefaults]\ndefault_tgs_enctypes = "+encryption+"\n"), 0o600))
	login, err := Open(t.Context(), Options{Principal: "bob", Keytab: keytab, Config: config + ":" + kdc.Config()})
	require.NoError(t, err)
	t.Cleanup(login.Close)
	return login
}

// jdkEncryptions are the encryption types of the vectors, by the name of a service that has
// only a key of that type.
var jdkEncryptions = map[string]string{
	"aes256": "aes256-cts-hmac-sha1-96", "aes128": "aes128-cts-hmac-sha1-96",
	"aes256-sha2": "aes256-cts-hmac-sha384-192", "aes128-sha2": "aes128-cts-hmac-sha256-128",
}

// record exchanges messages with a JDK in both directions, and writes them to vectorsFile.
func record(t *testing.T) {
	kdc, bob := startKDC(t)
	var vectors []vector
	for name, encryption := range jdkEncryptions {
		login := openWith(t, kdc, bob, encryption)
		service, keys := "nn/"+name, filepath.Join(t.TempDir(), name)
		require.NoError(t, kdc.Admin(t.Context(), fmt.Sprintf("addprinc -randkey -e %s:normal %s\nktadd -norandkey -k %s %[2]s\n", encryption, service, keys)))
		jdk := startJDK(t, kdc, service, keys)
		x, token, err := login.NewContext(t.Context(), service)
		require.NoError(t, err)
		require.Equal(t, encryption, encryptionName(x.sessionKey.KeyType))
		v := vector{
			Encryption: encryption, Type: x.sessionKey.KeyType, SessionKey: x.sessionKey.KeyValue, Subkey: x.authenticator.SubKey.KeyValue,
			Time: x.authenticator.CTime.Truncate(time.Second).Add(time.Duration(x.authenticator.Cusec) * time.Microsecond), Sequence: x.authenticator.SeqNumber,
			Answer: jdk.ask("accept", token),
		}
		require.NoError(t, x.Establish(v.Answer))
		for i, text := range []string{"a", "from the JDK", strings.Repeat("long ", 60)} {
			for _, sealed := range []bool{i%2 == 0, i%2 != 0} {
				wrapped := jdk.ask(map[bool]string{false: "wrap", true: "seal"}[sealed], []byte(text))
				v.Received = append(v.Received, message{text, sealed, wrapped})
				got, wasSealed, err := x.Unwrap(wrapped)
				require.NoError(t, err)
				require.Equal(t, text, string(got))
				require.Equal(t, sealed, wasSealed)
			}
		}
		for _, text := range []string{"b", "to the JDK"} {
			wrapped, err := x.Wrap([]byte(text), false)
			require.NoError(t, err)
			require.Equal(t, hex.EncodeToString([]byte(text))+" false", jdk.line("unwrap", wrapped))
			v.Sent = append(v.Sent, message{Text: text, Token: wrapped})
		}
		secret, err := x.Wrap([]byte("a secret"), true)
		require.NoError(t, err)
		require.Equal(t, hex.EncodeToString([]byte("a secret"))+" true", jdk.line("unwrap", secret))
		vectors = append(vectors, v)
	}
	content, err := json.MarshalIndent(vectors, "", "\t")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(vectorsFile, append(content, '\n'), 0o644))
}

// jdk is a process of testdata/Acceptor.java.
type jdk struct {
	t      *testing.T
	input  io.Writer
	output *bufio.Scanner
}

func startJDK(t *testing.T, kdc *kdctest.KDC, service, keys string) *jdk {
	cmd := exec.CommandContext(t.Context(), "java", "-Djava.security.krb5.conf="+kdc.Config(), "testdata/Acceptor.java", service+"@"+kdctest.Realm, keys)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = cmd.Wait()
	})
	return &jdk{t, input, bufio.NewScanner(output)}
}

// line sends a command and returns the answer.
func (j *jdk) line(command string, token []byte) string {
	_, err := fmt.Fprintf(j.input, "%s %x\n", command, token)
	require.NoError(j.t, err)
	require.True(j.t, j.output.Scan(), "the JDK failed")
	return j.output.Text()
}

// ask sends a command and returns the token in the answer.
func (j *jdk) ask(command string, token []byte) []byte {
	answer, err := hex.DecodeString(j.line(command, token))
	require.NoError(j.t, err)
	return answer
}
