// What to do with the signature of a quote: check it, and give it to the settlement contract with the quote.
import { useEffect } from 'preact/compat'
import { curlOf, keyVariable } from '#api/contract/samples.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import { Card } from '../../parts/card.tsx'
import { Copyable } from '../../parts/copyable.tsx'
import { focusCard } from '../../parts/focus-card.ts'
import { formatTime } from '../../parts/format.ts'

interface SignedQuoteProps {
  readonly quote: Quote
  readonly typedData: TypedData
  readonly signature: string
  /** May be empty. */
  readonly signer: string
}

export function SignedQuote({ quote: { id }, typedData, signature, signer }: SignedQuoteProps) {
  const { spender, deadline } = typedData.message
  useEffect(() => focusCard('signed'), [])
  const origin = window.location.origin
  const check = { id, signature, ...(signer !== '' && { signer }) }
  const curl = (...call: readonly [id: 'fx.quote' | 'fx.checkSignature', input: Readonly<Record<string, string>>]) =>
    curlOf(call[0], origin, call[1], keyVariable, ' \\\n  ')
  return (
    <Card id="signed" title="What to do with the signature">
      <p>
        This server does not settle trades. Give the quote and the signature to whoever operates the settlement contract{' '}
        <code>{spender}</code>. It passes both to Permit2 (<code>permitWitnessTransferFrom</code>) before{' '}
        {formatTime(Number(deadline))}.
      </p>
      <Copyable title="Signature" text={signature} />
      <Copyable title="Read the quote with its typed data" text={curl('fx.quote', { id })} />
      <Copyable title="Check the signature" text={curl('fx.checkSignature', check)} />
      <p className="soft small">
        <code>TETRAD_KEY</code> is the key that created the quote. How a contract settles a quote:{' '}
        <a href="/docs/fx.html#sign-a-quote">Sign a quote</a>.
      </p>
    </Card>
  )
}
