package zktest

import (
	"cmp"
	"slices"
	"unicode/utf16"
)

// inHashOrder sorts identities as ZooKeeper shows them and as it expands the
// scheme auth: it keeps them in a hash table, and tells them bucket by bucket.
// Those of one bucket stay in the order in which they came.
func inHashOrder(ids []id) []id {
	buckets := uint32(16)
	for uint32(len(ids)) >= buckets/4*3 {
		buckets *= 2
	}
	bucket := func(i id) uint32 {
		h := i.hash()
		return (h ^ h>>16) & (buckets - 1)
	}
	slices.SortStableFunc(ids, func(a, b id) int { return cmp.Compare(bucket(a), bucket(b)) })
	return ids
}

// hash is what a Java program calls the hash code of an identity.
func (i id) hash() uint32 { return (17*37+javaHash(i.scheme))*37 + javaHash(i.name) }

func javaHash(s string) (h uint32) {
	for _, c := range utf16.Encode([]rune(s)) {
		h = h*31 + uint32(c)
	}
	return h
}
