package zktest

import (
	"fmt"
	"strings"
)

// environment tells, in place of a Java process's surroundings, that there is none.
// Clients read the server's version here.
func environment(b *strings.Builder) {
	fmt.Fprintf(b, "Environment:\nzookeeper.version=%s\nhost.name=localhost\n", version)
	for _, key := range strings.Fields(`java.version java.vendor java.home java.class.path java.library.path
		java.io.tmpdir java.compiler os.name os.arch os.version user.name user.home user.dir`) {
		fmt.Fprintf(b, "%s=<NA>\n", key)
	}
	for _, key := range []string{"free", "max", "total"} {
		fmt.Fprintf(b, "os.memory.%s=0MB\n", key)
	}
}
