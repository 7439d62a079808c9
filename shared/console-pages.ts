// The addresses of the console's pages. The server delivers the console at each of them
// (behaviour/operations.md#console-pages). No endpoint begins with the first segment of a page, so that neither hides the
// other: the pages of markets are below `/market`, because `/markets` is an endpoint.

/** Page → its paths, in the order of the menu; `{name}` is one segment. The first path begins the others. */
export const consolePages = {
  home: ['/'],
  explorer: ['/explorer', '/explorer/{chain}', '/explorer/{chain}/{item}'],
  fx: ['/fx', '/fx/{quote}'],
  validators: ['/validators', '/validators/{validator}'],
  markets: ['/market', '/market/{slug}', '/market/{slug}/event/{event}'],
  overview: ['/overview'],
  keys: ['/keys', '/keys/{id}'],
  // The token of a sign-in link is in the fragment, which is not sent to servers.
  'sign-in': ['/sign-in'],
} as const satisfies Readonly<Record<string, readonly [string, ...string[]]>>

export type ConsolePage = keyof typeof consolePages
