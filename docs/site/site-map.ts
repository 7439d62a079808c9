// The sidebar of the documentation site, and the address of each page.

/** The server in links and samples of the sources. Pages that a server delivers name that server instead. */
export const exampleServer = 'http://127.0.0.1:8080'

/** A label and the source file, relative to docs/. */
type Entry = readonly [label: string, source: string]

/** Endpoint pages are listed under "Endpoints" by group; decisions are listed on their own page. */
export const sidebar: readonly { readonly title: string; readonly entries: readonly Entry[] }[] = [
  {
    title: 'Start',
    entries: [
      ['Overview', 'README.md'],
      ['Install', 'install.md'],
      ['Try it', 'try.md'],
      ['Getting started', 'getting-started.md'],
      ['Run it in production', 'production.md'],
      ['Console', 'console.md'],
      ['TypeScript client', 'client.md'],
      ['AI agents', 'agents.md'],
    ],
  },
  {
    title: 'Existing clients',
    entries: [
      ['Overview', 'clients/README.md'],
      ['etherscan-api', 'clients/etherscan-api.md'],
      ['rated-python', 'clients/rated-python.md'],
      ['polymarket-gamma', 'clients/polymarket-gamma.md'],
      ['@polymarket/client', 'clients/polymarket-client.md'],
      ['Markets in Python', 'clients/polymarket-python.md'],
      ['polymarket-rs', 'clients/polymarket-rs.md'],
      ['viem and ethers', 'clients/viem-and-ethers.md'],
      ['openapi-fetch', 'clients/openapi-fetch.md'],
      ['Generated clients', 'clients/generated-clients.md'],
      ['curl and Postman', 'clients/curl-and-postman.md'],
    ],
  },
  {
    title: 'Data',
    entries: [
      ['Explorer', 'explorer.md'],
      ['Labels', 'labels.md'],
      ['Many fundings', 'fundings.md'],
      ['Funding trail', 'trail.md'],
      ['FX quotes', 'fx.md'],
      ['Validator ratings', 'validators.md'],
      ['Beacon nodes', 'beacon-nodes.md'],
      ['Validator alerts', 'alerts.md'],
      ['Markets', 'markets.md'],
      ['Export', 'export.md'],
      ['ClickHouse mirror', 'mirror.md'],
    ],
  },
  {
    title: 'Run a server',
    entries: [
      ['Configuration', 'configuration.md'],
      ['Operations', 'operations.md'],
      ['Scaling', 'scaling.md'],
      ['Security', 'security.md'],
      ['Upgrading', 'upgrading.md'],
      ['Conformance', 'conformance.md'],
    ],
  },
  {
    title: 'Reference',
    entries: [
      ['Commands', 'commands.md'],
      ['Errors', 'errors.md'],
      ['Rating method', 'methodology.md'],
      ['Endpoints', 'endpoints/README.md'],
    ],
  },
  {
    title: 'Behaviour',
    entries: [
      ['Overview', 'behaviour/README.md'],
      ['HTTP', 'behaviour/http.md'],
      ['Explorer', 'behaviour/explorer.md'],
      ['FX', 'behaviour/fx.md'],
      ['Validators', 'behaviour/validators.md'],
      ['Markets', 'behaviour/markets.md'],
      ['Operations', 'behaviour/operations.md'],
    ],
  },
  {
    title: 'Project',
    entries: [
      ['Decisions', 'decisions/README.md'],
      ['Known limits', 'known-limits.md'],
      ['Changelog', '../CHANGELOG.md'],
    ],
  },
]

/** Address of a page, relative to the root of the site: `errors.html`, `behaviour/index.html`. */
export const pathOf = (source: string): string =>
  source
    .replace(/^\.\.\/(\w+)\.md$/, (_, name: string) => `${name.toLowerCase()}.html`)
    .replace(/(^|\/)README\.md$/, '$1index.html')
    .replace(/\.md$/, '.html')

/** How a page in `from` links to the page or file at `to`; both are relative to the root of the site. */
export const relativeLink = (from: string, to: string): string => `${'../'.repeat(from.split('/').length - 1)}${to}`
