// The typed data of a quote, field by field with its meaning.
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import { Card } from '../../parts/card.tsx'
import { Copyable } from '../../parts/copyable.tsx'
import { formatTime, formatUnits } from '../../parts/format.ts'
import { Table } from '../../parts/table.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { walletText } from './wallet.ts'

export function TypedDataCard({ quote, typedData }: { readonly quote: Quote; readonly typedData: TypedData }) {
  return (
    <Card id="typed-data" title="What you sign">
      <Fields quote={quote} typedData={typedData} />
      <details>
        <summary>Show as JSON for another wallet</summary>
        <Copyable title="Typed data (EIP-712)" text={walletText(typedData)} />
      </details>
    </Card>
  )
}

function Fields({ quote, typedData: { domain, message } }: { readonly quote: Quote; readonly typedData: TypedData }) {
  const query = useEndpoint('fx.currencies', {})
  const currencies = query.data?.reply.currencies ?? []
  const tokenAt = (contract: string) =>
    currencies.find((token) => token.contract.toLowerCase() === contract.toLowerCase())
  const amount = (base: bigint | number | string, contract: string): string => {
    const token = tokenAt(contract)
    return token ? `${formatUnits(base, token.decimals, token.decimals)} ${token.currency}` : ''
  }
  const { consideration, fee, recipient } = message.witness
  const rows: readonly (readonly [string, string, string])[] = [
    ['domain.name', domain.name, 'Contract that verifies the signature'],
    ['domain.chainId', String(domain.chainId), 'Chain that the signature is valid for'],
    ['domain.verifyingContract', domain.verifyingContract, 'Address of the verifying contract'],
    ['permitted.token', message.permitted.token, `Token you pay: ${quote.from.currency}`],
    [
      'permitted.amount',
      String(message.permitted.amount),
      `At most ${amount(message.permitted.amount, message.permitted.token)}`,
    ],
    ['spender', message.spender, 'Contract that may transfer the token'],
    ['nonce', String(message.nonce), 'Makes the permit valid for one use only'],
    ['deadline', String(message.deadline), `Expires ${formatTime(Number(message.deadline))}`],
    ['consideration.quoteId', consideration.quoteId, 'Id of this quote'],
    ['consideration.base', consideration.base, `Token you receive: ${quote.to.currency}`],
    ['consideration.quote', consideration.quote, `Token you pay: ${quote.from.currency}`],
    [
      'consideration.baseAmount',
      consideration.baseAmount,
      `${amount(consideration.baseAmount, consideration.base)} before the fee`,
    ],
    [
      'consideration.quoteAmount',
      consideration.quoteAmount,
      `You pay ${amount(consideration.quoteAmount, consideration.quote)}`,
    ],
    ['consideration.maturity', String(consideration.maturity), `Settlement by ${formatTime(consideration.maturity)}`],
    ['fee', String(fee), `Fee: ${amount(fee, consideration.base)}`],
    ['recipient', recipient, 'Address that receives the token'],
  ]
  return (
    <Table
      name="Fields of the typed data"
      className="stacked"
      rows={rows}
      columns={[
        ['Field', ([field]) => <code>{field}</code>, 'nowrap'],
        ['Value', ([, value]) => value, 'mono'],
        ['Meaning', ([, , meaning]) => meaning, 'soft'],
      ]}
    />
  )
}
