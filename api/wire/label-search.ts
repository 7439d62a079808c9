// Group A beyond the specification: labelled entities and named addresses, found by words (behaviour/http.md#endpoints-beyond-the-specification, behaviour/explorer.md#label-search).
import { Address, endpoint, oneOf, type Static, Text, Type, withDefault } from '../kit.ts'
import { extensionRoutes } from '../routes.ts'

export const foundKinds = ['entity', 'address'] as const

/** Enough of a label to tell it from the others. */
export const FoundLabel = Type.Object({
  kind: oneOf(foundKinds, { description: '`entity`: has a slug. `address`: a named address.' }),
  chainid: Text,
  name: Text,
  slug: Type.Optional(Type.String({ description: 'Of the entity; of an address, the entity it belongs to.' })),
  address: Type.Optional(Address),
  source: Type.Optional(Type.String({ description: 'Whose word the name of an address is.' })),
  confidence: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: 'Percent, of a named address.' })),
})
export type FoundLabel = Static<typeof FoundLabel>

export const labelSearch = endpoint({
  ...extensionRoutes['explorer.labelSearch'],
  id: 'explorer.labelSearch',
  summary: 'Labelled entities and named addresses by words of their name, by slug or by the beginning of an address.',
  notes:
    'Every word must begin a word of the name or slug, or the address; in any letter case and with or without accents. What is called exactly so comes first, then what begins so; entities before addresses.',
  input: Type.Object({
    q: Type.String({ minLength: 1, maxLength: 200, description: 'Words, at most eight of which count.' }),
    chainid: Type.Optional(Type.String({ description: 'Only of this chain; all of them when left out.' })),
    limit: withDefault(Type.Integer({ minimum: 1, maximum: 50, description: 'Labels at most.' }), 20),
  }),
  reply: Type.Object({ status: Text, message: Text, result: Type.Array(FoundLabel) }),
  faults: ['explorer.chain_unsupported', 'record.unknown'],
  example: {
    input: { q: 'cobalt exch', chainid: '1', limit: 2 },
    reply: {
      status: '1',
      message: 'OK',
      result: [
        { kind: 'entity', chainid: '1', name: 'Cobalt Exchange', slug: 'cobalt-exchange' },
        {
          kind: 'address',
          chainid: '1',
          name: 'Cobalt Exchange: hot wallet 4',
          slug: 'cobalt-exchange',
          address: '0x6710cd41c8b4216547566d1805701986e28eb702',
          source: 'registry',
          confidence: 95,
        },
      ],
    },
  },
})
