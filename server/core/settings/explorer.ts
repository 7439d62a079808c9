// Settings of group A: which chains are served, and how label lists are handed out.
import { Type, withDefault } from '#api/kit.ts'
import { section } from './server.ts'

const Chain = Type.Object(
  {
    id: Type.String({ pattern: '^[1-9]\\d{0,18}$', description: 'Chain id, as the wire writes it.' }),
    name: Type.String({ minLength: 1, description: 'Name for people.' }),
  },
  { additionalProperties: false },
)

export const explorerSettings = section(
  {
    chains: withDefault(Type.Array(Chain, { maxItems: 256, description: 'Chains that are served.' }), [
      { id: '1', name: 'Ethereum' },
      { id: '137', name: 'Polygon' },
    ]),
    unavailableChains: withDefault(
      Type.Array(Type.String(), {
        description: 'Chains whose label list answers "temporarily unavailable" (spec section 8).',
      }),
      ['4326'],
    ),
    labels: section(
      {
        inlineMax: withDefault(
          Type.Integer({
            minimum: 0,
            description: 'Longest list that is sent as an array; a longer one becomes a link.',
          }),
          5000,
        ),
        linkSeconds: withDefault(
          Type.Integer({ minimum: 1, maximum: 86_400, description: 'How long a download link is good.' }),
          300,
        ),
      },
      'Label lists.',
    ),
  },
  'Chain explorer data.',
)
