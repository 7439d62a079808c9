// Adds the price of the coin and the value of the earnings to an income statement, from the stored rates of each day.
import type { IncomeDay } from '#api/contract/wire/validators-income.ts'
import { type Decimal, decimal, formatDecimal, tenTo, trimZeros } from '#core/decimal.ts'
import type { Priced } from '#shared/income-csv.ts'
import { withState } from './data.ts'
import { CommandFailure } from './failure.ts'
import { type CommonOptions, configOf } from './settings.ts'

const coin = 'ETH'
const gweiPlaces = 9

/** Also returns the value of all days: null if a day has none. */
export async function priceDays(
  options: CommonOptions,
  days: readonly IncomeDay[],
  currency: string,
): Promise<{ readonly days: readonly (IncomeDay & Priced)[]; readonly value: string | null }> {
  const dates = days.map(({ date }) => date)
  const prices = await readPrices(options, currency, dates)
  const values: Decimal[] = []
  const priced = days.map((day) => {
    const price = prices.get(day.date)
    if (price === undefined) return { ...day, price: null, value: null }
    const value = multiplyGwei(BigInt(day.earnings), decimal(price))
    values.push(value)
    return { ...day, price, value: signedText(value) }
  })
  return { days: priced, value: values.length < days.length ? null : signedText(sumOf(values)) }
}

async function readPrices(options: CommonOptions, currency: string, dates: readonly string[]) {
  const [{ settings }, { readDailyRates }] = await Promise.all([configOf(options), import('#fx/rates/daily-rates.ts')])
  const pair = { base: coin, quote: currency }
  const rates = await withState(options, 'found', (state) => readDailyRates({ state, settings }, pair, dates))
  if (rates) return rates
  throw new CommandFailure(
    'income.no_rates',
    `No source in fx.sources has returned rates between ${coin} and ${currency}. Add a source that has them; ` +
      'days before its first rate stay without a price.',
  )
}

const multiplyGwei = (gwei: bigint, { digits, scale }: Decimal): Decimal =>
  trimZeros({ digits: gwei * digits, scale: scale + gweiPlaces })

function sumOf(values: readonly Decimal[]): Decimal {
  const scale = Math.max(0, ...values.map((value) => value.scale))
  return trimZeros({
    digits: values.reduce((sum, value) => sum + value.digits * tenTo(scale - value.scale), 0n),
    scale,
  })
}

const signedText = ({ digits, scale }: Decimal): string =>
  digits < 0n ? `-${formatDecimal({ digits: -digits, scale })}` : formatDecimal({ digits, scale })
