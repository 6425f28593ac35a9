// Package s3 is a store for package casfence in a bucket that keeps Amazon S3's
// protocol: conditional PUT by If-None-Match and If-Match, and Signature Version 4.
// It does nothing against a program that writes below the prefix without the guard,
// and no more than the server does: one that takes the conditions for decoration
// lets every writer win. Several did, before S3 itself had them, so [Open] tries and
// refuses such a server.
//
// A bucket must read what it has written (S3 does; a cache or a replica in front of
// it does not). Versioning and encryption do no harm. Lifecycle rules must leave alone what is
// below "pointers/", and below "objects/" as well: by age alone they remove also what
// a pointer names. casfence's Sweep removes what no pointer does.
//
// The credentials need s3:GetObject and s3:PutObject, and s3:ListBucket: without it
// S3 answers a key that does not exist with 403, which is an error here, not an
// empty resource. s3:DeleteObject removes what Open has tried with, and is needed for
// Sweep alone otherwise.
//
// It needs the standard library alone.
package s3
