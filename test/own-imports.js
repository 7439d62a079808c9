// For `node --import`: resolves imports between our own files as the launcher does.
import '../cli/own-imports.js'
