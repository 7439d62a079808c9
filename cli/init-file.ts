// The text of the configuration file that `tetrad init` writes: the sources, and nothing that they report themselves.
import type { Network } from '#api/contract/wire/networks.ts'
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
    `# All settings: ${docsPage('configuration')}. Check this file with: tetrad config check`,
    `store: { dir: ${ownDataDir} } # not the data folder of the demo`,
    ...(rpc
      ? [
          'explorer:',
          '  chains:',
          `    - { id: ${quoted(rpc.id)}, name: ${quoted(rpc.name)}, rpc: [${quoted(rpc.url)}] }`,
        ]
      : []),
    ...(rates
      ? [
          'fx:',
          '  sources:',
          `    - { id: main, kind: ${rates.kind}, url: ${quoted(rates.url)}${documentText(rates.found)} }`,
        ]
      : []),
    ...(beacon
      ? ['validators:', '  networks:', `    ${beacon.network}: { beacon: { urls: [${quoted(beacon.url)}] } }`]
      : []),
    ...(markets
      ? [
          'markets:',
          '  feeds:',
          `    - { id: main, url: ${quoted(markets.url)}${markets.list === '' ? '' : `, list: ${quoted(markets.list)}`} }`,
        ]
      : []),
    '',
  ].join('\n')
}

/** A JSON value is also a YAML value. */
const documentText = (found: FoundDocument | undefined): string =>
  Object.entries(found ?? {})
    .map(([name, value]) => `, ${name}: ${JSON.stringify(value)}`)
    .join('')
