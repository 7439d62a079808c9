// Calls the eight endpoints with the client that oapi-codegen generates, and prints one fact of each reply.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The reply of the right status, or the end.
func must[T any](reply *T, body []byte) T {
	if reply == nil {
		fmt.Fprintf(os.Stderr, "no reply: %.300s\n", body)
		os.Exit(1)
	}
	return *reply
}

func main() {
	base, key, address, slug := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	// The key of the explorer is a query parameter.
	withApikey := func(_ context.Context, request *http.Request) error {
		query := request.URL.Query()
		query.Set("apikey", key)
		request.URL.RawQuery = query.Encode()
		return nil
	}
	client, err := NewClientWithResponses(base)
	check(err)
	facts := map[string]any{}

	list, err := client.ExplorerApiWithResponse(ctx, &ExplorerApiParams{Module: "nametag", Action: "getlabelmasterlist", Chainid: "1"}, withApikey)
	check(err)
	lists := must(list.JSON200, list.Body)
	labels, err := lists.AsLabelListV2Reply()
	check(err)
	all, err := labels.Result.AsLabelListV2ReplyResult1()
	check(err)
	facts["labelListV2"] = all[0].Labelslug

	listV1, err := client.ExplorerLabelListV1WithResponse(ctx, &ExplorerLabelListV1Params{Module: "nametag", Action: "getlabelmasterlist"}, withApikey)
	check(err)
	repliesV1 := must(listV1.JSON200, listV1.Body)
	labelsV1, err := repliesV1.AsLabelListV1Reply()
	check(err)
	facts["labelListV1"] = labelsV1.Result[0].Labelslug

	funding, err := client.ExplorerApiWithResponse(ctx, &ExplorerApiParams{Module: "account", Action: "fundedby", Chainid: "1", Address: &address}, withApikey)
	check(err)
	fundings := must(funding.JSON200, funding.Body)
	funded, err := fundings.AsFundedByReply()
	check(err)
	facts["fundedBy"] = funded.Result.FundingAddress

	amount, reference := "1000.00", FxCreateQuoteJSONBodyTypeReference
	quote, err := client.FxCreateQuoteWithResponse(ctx, nil, FxCreateQuoteJSONRequestBody{
		From:  AmountInput{Currency: "USDC", Amount: &amount},
		To:    AmountInput{Currency: "EURC"},
		Tenor: "instant",
		Type:  &reference,
	}, withKey)
	check(err)
	facts["createQuote"] = must(quote.JSON200, quote.Body).From.Amount

	indices, size := []int{12, 34}, 2
	aggregate, err := client.ValidatorsAggregateEffectivenessWithResponse(ctx, &ValidatorsAggregateEffectivenessParams{Indices: &indices, Size: &size}, withKey)
	check(err)
	facts["aggregateEffectiveness"] = must(aggregate.JSON200, aggregate.Body).Data[1].ValidatorIndex

	limit := 3
	days, err := client.ValidatorsEffectivenessWithResponse(ctx, "12", &ValidatorsEffectivenessParams{Limit: &limit}, withKey)
	check(err)
	facts["effectiveness"] = must(days.JSON200, days.Body).Results[2].Day

	metadata, err := client.ValidatorsMetadataWithResponse(ctx, "12", nil, withKey)
	check(err)
	facts["metadata"] = must(metadata.JSON200, metadata.Body).ValidatorPubkey

	market, err := client.MarketsBySlugWithResponse(ctx, slug, nil)
	check(err)
	facts["bySlug"] = must(market.JSON200, market.Body).Question

	check(json.NewEncoder(os.Stdout).Encode(facts))
}
