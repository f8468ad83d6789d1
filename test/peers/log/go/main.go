// Verifies what a log of receipts serves, by golang.org/x/mod/sumdb and by filippo.io/torchwood, each with its
// own parsing. A line of standard input is a request in JSON; a line of standard output is each one's verdict:
// empty where it accepts, else its error.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A request: verify a checkpoint, and where they are given a proof of an entry, the tiles at an address, and
// that the log begins with an earlier checkpoint.
type request struct {
	Key        string `json:"key"`
	Policy     string `json:"policy"`
	Checkpoint string `json:"checkpoint"`
	Proof      string `json:"proof"`
	Entry      []byte `json:"entry"`
	Address    string `json:"address"`
	Earlier    string `json:"earlier"`
}

type verdict struct {
	Sumdb     string `json:"sumdb"`
	Torchwood string `json:"torchwood"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var asked request
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		said, _ := json.Marshal(verdict{wordsOf(bySumdb(asked)), wordsOf(byTorchwood(asked))})
		fmt.Println(string(said))
	}
}

func wordsOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// openBySumdb reads a checkpoint as the specification has it: sumdb's own first line is another.
func openBySumdb(key, text string) (tlog.Tree, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return tlog.Tree{}, err
	}
	opened, err := note.Open([]byte(text), note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || lines[0] != verifier.Name() {
		return tlog.Tree{}, errors.New("not a checkpoint of this log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, err
	}
	root, err := tlog.ParseHash(lines[2])
	return tlog.Tree{N: size, Hash: root}, err
}

func bySumdb(asked request) error {
	if asked.Proof != "" {
		return proofBySumdb(asked)
	}
	tree, err := openBySumdb(asked.Key, asked.Checkpoint)
	if err != nil || asked.Address == "" {
		return err
	}
	hashes := tlog.TileHashReader(tree, tiles(asked.Address))
	if asked.Earlier != "" {
		earlier, err := openBySumdb(asked.Key, asked.Earlier)
		if err != nil {
			return err
		}
		path, err := tlog.ProveTree(tree.N, earlier.N, hashes)
		if err != nil {
			return err
		}
		if err := tlog.CheckTree(path, tree.N, tree.Hash, earlier.N, earlier.Hash); err != nil {
			return err
		}
	}
	return entriesBySumdb(asked.Address, tree, hashes)
}

func proofBySumdb(asked request) error {
	path, checkpoint, ok := strings.Cut(asked.Proof, "\n\n")
	lines := strings.Split(path, "\n")
	if !ok || len(lines) < 2 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return errors.New("not a proof")
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	if err != nil {
		return err
	}
	var proof tlog.RecordProof
	for _, line := range lines[2:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			return err
		}
		proof = append(proof, hash)
	}
	tree, err := openBySumdb(asked.Key, checkpoint)
	if err != nil {
		return err
	}
	return tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(asked.Entry))
}

// entriesBySumdb reads every entry and compares its hash with the one in the tiles, which sumdb authenticates.
func entriesBySumdb(address string, tree tlog.Tree, hashes tlog.HashReader) error {
	for start := int64(0); start < tree.N; start += 256 {
		width := min(256, tree.N-start)
		path := tlog.Tile{H: 8, L: -1, N: start / 256, W: int(width)}.Path()
		bundle, err := get(address, strings.Replace(path, "tile/8/data/", "tile/entries/", 1))
		if err != nil {
			return err
		}
		var indexes []int64
		for at := range width {
			indexes = append(indexes, tlog.StoredHashIndex(0, start+at))
		}
		stored, err := hashes.ReadHashes(indexes)
		if err != nil {
			return err
		}
		for at := range width {
			if len(bundle) < 34 || bundle[0] != 0 || bundle[1] != 32 {
				return fmt.Errorf("bundle of entry %d has no entry of 32 bytes", start+at)
			}
			if tlog.RecordHash(bundle[2:34]) != stored[at] {
				return fmt.Errorf("entry %d is not the leaf", start+at)
			}
			bundle = bundle[34:]
		}
		if len(bundle) != 0 {
			return errors.New("a bundle has more than its entries")
		}
	}
	return nil
}

// tiles reads those of an address; it is the address' path as tlog-tiles has it, which sumdb's differs from.
type tiles string

func (tiles) Height() int { return 8 }

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (address tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, len(wanted))
	for at, tile := range wanted {
		bytes, err := get(string(address), strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
		if err != nil {
			return nil, err
		}
		read[at] = bytes
	}
	return read, nil
}

func get(address, path string) ([]byte, error) {
	answer, err := http.Get(address + "/" + path)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s of %s", answer.Status, path)
	}
	return io.ReadAll(answer.Body)
}

func byTorchwood(asked request) error {
	verifier, err := note.NewVerifier(asked.Key)
	if err != nil {
		return err
	}
	own := torchwood.SingleVerifierPolicy(verifier)
	policy := torchwood.ThresholdPolicy(2, torchwood.OriginPolicy(verifier.Name()), own)
	if asked.Policy != "" {
		if policy, err = torchwood.ParsePolicy([]byte(asked.Policy)); err != nil {
			return err
		}
	}
	if asked.Proof != "" {
		return torchwood.VerifyProof(policy, tlog.RecordHash(asked.Entry), []byte(asked.Proof))
	}
	checkpoint, _, err := torchwood.VerifyCheckpoint([]byte(asked.Checkpoint), policy)
	if err != nil || asked.Address == "" {
		return err
	}
	fetcher, err := torchwood.NewTileFetcher(asked.Address)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if asked.Earlier != "" {
		earlier, _, err := torchwood.VerifyCheckpoint([]byte(asked.Earlier), policy)
		if err != nil {
			return err
		}
		hashes := torchwood.TileHashReaderWithContext(ctx, checkpoint.Tree, fetcher)
		path, err := tlog.ProveTree(checkpoint.N, earlier.N, hashes)
		if err != nil {
			return err
		}
		if err := tlog.CheckTree(path, checkpoint.N, checkpoint.Hash, earlier.N, earlier.Hash); err != nil {
			return err
		}
	}
	client, err := torchwood.NewClient(fetcher)
	if err != nil {
		return err
	}
	var read int64
	for range client.AllEntries(ctx, checkpoint.Tree, 0) {
		read++
	}
	if err := client.Err(); err != nil {
		return err
	}
	if read != checkpoint.N {
		return fmt.Errorf("%d entries of %d", read, checkpoint.N)
	}
	return nil
}
