// The text of the configuration file that `tetrad init` writes. Sources that were not given are in it as comments.
import type { Network } from '#api/contract/wire/validators.ts'
import type { FoundDocument } from '#fx/rates/find-document-paths.ts'
import { docsPage } from './docs-page.ts'

export interface FoundSources {
  readonly rpc?: { readonly url: string; readonly id: string; readonly name: string }
  readonly rates?: {
    readonly url: string
    readonly kind: 'http-json' | 'ecb'
    readonly found?: FoundDocument | undefined
  }
  readonly beacon?: { readonly url: string; readonly network: Network }
  /** `list`: path to the list in a page; empty if the page is the list. */
  readonly markets?: { readonly url: string; readonly list: string }
}
export type SourceKind = keyof FoundSources

/** A configured server refuses the folder of the demo, `data`. */
export const ownDataDir = 'data-own'

/** A JSON string is also a YAML string. */
const quoted = (text: string): string => JSON.stringify(text)

export function configText({ rpc, rates, beacon, markets }: FoundSources): string {
  return [
    `# Configuration of Tetrad. All settings: ${docsPage('configuration')}. Check this file with: tetrad config check

server:
  host: 127.0.0.1 # 0.0.0.0: all addresses of this machine. Read ${docsPage('security')} before.
  port: 8080
  # publicUrl: https://data.example.net # scheme and host of links, if a proxy is in front

store:
  dir: ${quoted(ownDataDir)} # the data folder; not the one of the demo
`,
    '# First fundings and labels. `tetrad chains` shows what the node supports.',
    sectionText(
      rpc !== undefined,
      `explorer:
  chains:
    - id: ${quoted(rpc?.id ?? '1')}
      name: ${quoted(rpc?.name ?? 'Ethereum')}
      mode: probe # search the node on request; index: read every block ahead of time; both
      rpc:
        - url: ${quoted(rpc?.url ?? 'http://127.0.0.1:8545')}`,
    ),
    '# Exchange rates. `tetrad fx sources` shows them.',
    sectionText(
      rates !== undefined,
      `fx:
  chainId: 1 # chain of the tokens and of the typed data
  spender: '' # your settlement contract; empty: reference quotes only
  sources:
    - id: main
      kind: ${rates?.kind ?? 'http-json'}
      url: ${quoted(rates?.url ?? 'https://rates.example.net/latest.json')}${documentText(rates?.found)}`,
    ),
    '# Effectiveness of validators. The first ratings appear within minutes of the first start.',
    sectionText(
      beacon !== undefined,
      `validators:
  networks:
    ${beacon?.network ?? 'mainnet'}:
      beacon:
        urls: [${quoted(beacon?.url ?? 'http://127.0.0.1:5052')}]
      watch: [] # indices or public keys; empty: all validators`,
    ),
    '# Prediction markets. You can also import a file: tetrad import markets markets.json',
    sectionText(
      markets !== undefined,
      `markets:
  feeds:
    - id: main
      url: ${quoted(markets?.url ?? 'https://markets.example.net/markets')}
      list: ${quoted(markets?.list ?? '')} # path to the list in a page; empty: the page is the list`,
    ),
  ].join('\n')
}

/** A JSON value is also a YAML value. */
const documentText = (found: FoundDocument | undefined): string =>
  Object.entries(found ?? {})
    .map(([name, value]) => `\n      ${name}: ${JSON.stringify(value)}`)
    .join('')

const sectionText = (isUsed: boolean, text: string): string => `${isUsed ? text : text.replaceAll(/^/gm, '# ')}\n`
