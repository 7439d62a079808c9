// A list of labelled values. Rows without a value are left out.
import type { ReactNode } from 'preact/compat'

interface FactsProps {
  /** Label → value, in the order of the rows. */
  readonly of: Readonly<Record<string, ReactNode>>
  readonly className?: string
}

const hasValue = (value: ReactNode): boolean => value !== undefined && value !== null && value !== false && value !== ''

export function Facts({ of, className = '' }: FactsProps) {
  return (
    <dl className={`facts ${className}`}>
      {Object.entries(of).map(
        ([label, value]) =>
          hasValue(value) && (
            <div key={label} className="fact">
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

/** A value in the monospaced font, such as an address or a hash. */
export const Mono = ({ text }: { readonly text: string }) => <span className="mono">{text}</span>
