// What is to be signed, field by field, with what each figure means; and the wallet.
import { useState } from 'react'
import type { Quote, TypedData } from '#api/wire/fx.ts'
import { useEndpoint } from '../../calls.ts'
import { Columns } from '../../parts/columns.tsx'
import { Copyable } from '../../parts/copyable.tsx'
import { formatTime, formatUnits } from '../../parts/format.ts'
import { Failure } from '../../parts/query-result.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { go } from '../../route.ts'
import { hasWallet, signInWallet, walletText } from './wallet.ts'

export function TypedDataCard({ quote, typedData }: { readonly quote: Quote; readonly typedData: TypedData }) {
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const sign = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const { signature, signer } = await signInWallet(typedData)
      go('fx', [quote.id], { signature, signer })
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  return (
    <section className="card" aria-labelledby="typed-data">
      <div className="spread">
        <h2 id="typed-data">What you sign</h2>
        {hasWallet() ? (
          <button type="button" className="main" onClick={() => void sign()} disabled={busy}>
            {busy ? 'Waiting for the wallet…' : 'Sign with the wallet'}
          </button>
        ) : (
          <span className="soft small">No wallet in this browser: sign elsewhere and paste the signature below.</span>
        )}
      </div>
      {error !== undefined && <Failure error={error} />}
      <Fields quote={quote} typedData={typedData} />
      <details>
        <summary>As text for another wallet</summary>
        <Copyable title="Typed data (EIP-712)" text={walletText(typedData)} />
      </details>
    </section>
  )
}

function Fields({ quote, typedData: { domain, message } }: { readonly quote: Quote; readonly typedData: TypedData }) {
  const offered = useEndpoint('fx.currencies', {})
  const currencies = offered.data?.reply.currencies ?? []
  const tokenAt = (contract: string) => currencies.find((one) => one.contract.toLowerCase() === contract.toLowerCase())
  const amount = (base: bigint | number | string, contract: string): string => {
    const token = tokenAt(contract)
    return token ? `${formatUnits(base, token.decimals, token.decimals)} ${token.currency}` : ''
  }
  const { consideration, fee, recipient } = message.witness
  const rows: readonly (readonly [string, string, string])[] = [
    ['domain.name', domain.name, 'The contract that checks the signature'],
    ['domain.chainId', String(domain.chainId), 'The only chain it counts on'],
    ['domain.verifyingContract', domain.verifyingContract, 'Its address'],
    ['permitted.token', message.permitted.token, `The token you let go of: ${quote.from.currency}`],
    [
      'permitted.amount',
      String(message.permitted.amount),
      `At most ${amount(message.permitted.amount, message.permitted.token)}`,
    ],
    ['spender', message.spender, 'The contract that may take it'],
    ['nonce', String(message.nonce), 'Makes this permit good for one use'],
    ['deadline', String(message.deadline), `Not after ${formatTime(message.deadline)}`],
    ['consideration.quoteId', consideration.quoteId, 'This quote'],
    ['consideration.base', consideration.base, `The token you get: ${quote.to.currency}`],
    ['consideration.quote', consideration.quote, `The token you give: ${quote.from.currency}`],
    [
      'consideration.baseAmount',
      consideration.baseAmount,
      `You get ${amount(consideration.baseAmount, consideration.base)}`,
    ],
    [
      'consideration.quoteAmount',
      consideration.quoteAmount,
      `You give ${amount(consideration.quoteAmount, consideration.quote)}`,
    ],
    ['consideration.maturity', String(consideration.maturity), `Settled by ${formatTime(consideration.maturity)}`],
    ['fee', String(fee), amount(fee, consideration.base)],
    ['recipient', recipient, 'Who receives it'],
  ]
  return (
    <Scroll name="Fields of the typed data">
      <table>
        <Columns of={['Field', 'Value', 'Means']} />
        <tbody>
          {rows.map(([field, value, means]) => (
            <tr key={field}>
              <td>
                <code>{field}</code>
              </td>
              <td className="mono">{value}</td>
              <td className="soft">{means}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
