// Package admission says of a document what a Kubernetes API server would say when the document is created:
// it fills in the defaults, then checks the types, patterns and limits of the kind's CRD, its lists with keys,
// its CEL rules, and the object's metadata. No server is involved; the work is done by the packages that the
// server itself uses (k8s.io/apiextensions-apiserver), in the order of its create handler, and the wording of
// errors is theirs. testdata/verdicts.json holds what a real server said of the corpus in testdata/corpus.
//
// The CRDs come with the package, in crds/: those that limpet reads of the experimental channel of Gateway API
// 1.6.3 and 1.7.0, as released but without their descriptions (update.sh writes them). Further CRDs can be given
// to New. A kind's schema is compiled when its first object comes, for the CEL rules of HTTPRoute alone take
// a tenth of a second, and is kept for the life of the process.
//
// Three things differ from a server on purpose. Unknown fields are errors, where a server drops them with a
// warning at most. Status is neither checked nor given defaults, for creation ignores it. And what only a server
// can do is not done: names are not generated, rules about the old object (oldSelf) have none to look at.
package admission
