package main

import (
	"cmp"
	"fmt"
	"path"
	"time"

	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/dataset/parquet"
)

// The queries read TPC-H's tables from directories of Parquet files. An amount is an integer: its
// decimal digits without the decimal point. Amounts in the tables have two digits after the
// point. A product has as many digits after the point as its factors have together.

func lineItems[T any](p *dataset.Plan, tables string, options ...parquet.ReadOption) *dataset.Of[T] {
	return parquet.Read[T](p, path.Join(tables, "lineitem"), options...)
}

func orders[T any](p *dataset.Plan, tables string, options ...parquet.ReadOption) *dataset.Of[T] {
	return parquet.Read[T](p, path.Join(tables, "orders"), options...)
}

func customers[T any](p *dataset.Plan, tables string, options ...parquet.ReadOption) *dataset.Of[T] {
	return parquet.Read[T](p, path.Join(tables, "customer"), options...)
}

// decimal returns unscaled / 10^scale as text with scale digits after the point.
func decimal(unscaled int64, scale int32) string { return parquet.NewDecimal(unscaled, scale).String() }

// soldItem contains the columns of lineitem that Q1 reads.
type soldItem struct {
	Returned string `parquet:"l_returnflag"`
	Status   string `parquet:"l_linestatus"`
	Quantity int64  `parquet:"l_quantity,decimal(15,2)"`
	Price    int64  `parquet:"l_extendedprice,decimal(15,2)"`
	Discount int64  `parquet:"l_discount,decimal(15,2)"`
	Tax      int64  `parquet:"l_tax,decimal(15,2)"`
}

// lineStatus is the key by which Q1 groups line items.
type lineStatus struct{ Returned, Status string }

// totals contains sums over line items.
type totals struct {
	Items, Quantity, Price, Discount int64
	Discounted                       int64 // prices minus discounts, with four digits after the point
	Charged                          int64 // Discounted plus taxes, with six digits after the point
}

func (t totals) add(other totals) totals {
	t.Items += other.Items
	t.Quantity += other.Quantity
	t.Price += other.Price
	t.Discount += other.Discount
	t.Discounted += other.Discounted
	t.Charged += other.Charged
	return t
}

func (i soldItem) totals() totals {
	discounted := i.Price * (100 - i.Discount)
	return totals{1, i.Quantity, i.Price, i.Discount, discounted, discounted * (100 + i.Tax)}
}

// average returns sum/count as text with six digits after the point, rounded half up. sum has
// two digits after the point.
func average(sum, count int64) string { return decimal((2*sum*10_000+count)/(2*count), 6) }

// pricingSummary is Q1: sums over the line items that were shipped at least 90 days before
// 1998-12-01.
var pricingSummary = dataset.Define("pricing summary", func(p *dataset.Plan, tables string) *dataset.Of[string] {
	until := parquet.NewDate(1998, time.September, 2)
	items := lineItems[soldItem](p, tables, parquet.Where("l_shipdate", parquet.LessOrEqual, until))
	sums := dataset.Reduce(dataset.MapKV(items, func(i soldItem) (lineStatus, totals) {
		return lineStatus{i.Returned, i.Status}, i.totals()
	}), totals.add)
	return dataset.Map(dataset.SortByKey(sums), func(group dataset.KV[lineStatus, totals]) string {
		t := group.Value
		return fmt.Sprintf("%s|%s|%s|%s|%s|%s|%s|%s|%s|%d", group.Key.Returned, group.Key.Status,
			decimal(t.Quantity, 2), decimal(t.Price, 2), decimal(t.Discounted, 4), decimal(t.Charged, 6),
			average(t.Quantity, t.Items), average(t.Price, t.Items), average(t.Discount, t.Items), t.Items)
	})
})

// Columns that Q3 reads.
type (
	customerKey struct {
		Key int64 `parquet:"c_custkey"`
	}
	datedOrder struct {
		Key      int64        `parquet:"o_orderkey"`
		Customer int64        `parquet:"o_custkey"`
		Date     parquet.Date `parquet:"o_orderdate"`
		Priority int32        `parquet:"o_shippriority"`
	}
	revenueItem struct {
		Order    int64 `parquet:"l_orderkey"`
		Price    int64 `parquet:"l_extendedprice,decimal(15,2)"`
		Discount int64 `parquet:"l_discount,decimal(15,2)"`
	}
)

// unshippedOrder is the key by which Q3 groups line items.
type unshippedOrder struct {
	Key      int64
	Date     parquet.Date
	Priority int32
}

// shippingPriority is Q3. Its answer is ten orders of customers in the market segment BUILDING:
// the orders from before 1995-03-15 with the largest revenue from line items that were shipped
// after this day.
var shippingPriority = dataset.Define("shipping priority", func(p *dataset.Plan, tables string) *dataset.Of[string] {
	day := parquet.NewDate(1995, time.March, 15)
	building := dataset.MapKV(customers[customerKey](p, tables, parquet.Where("c_mktsegment", parquet.Equal, "BUILDING")),
		func(c customerKey) (int64, struct{}) { return c.Key, struct{}{} })
	before := dataset.MapKV(orders[datedOrder](p, tables, parquet.Where("o_orderdate", parquet.Less, day)),
		func(o datedOrder) (int64, unshippedOrder) {
			return o.Customer, unshippedOrder{o.Key, o.Date, o.Priority}
		})
	unshipped := dataset.KeyBy(dataset.BroadcastJoin(before, building, func(_ int64, o unshippedOrder, _ struct{}) unshippedOrder { return o }),
		func(o unshippedOrder) int64 { return o.Key })
	revenues := dataset.MapKV(lineItems[revenueItem](p, tables, parquet.Where("l_shipdate", parquet.Greater, day)),
		func(i revenueItem) (int64, int64) { return i.Order, i.Price * (100 - i.Discount) })
	sums := dataset.Reduce(dataset.BroadcastJoin(revenues, unshipped, func(_, revenue int64, o unshippedOrder) dataset.KV[unshippedOrder, int64] {
		return dataset.KV[unshippedOrder, int64]{Key: o, Value: revenue}
	}), func(a, b int64) int64 { return a + b })
	type orderRevenue = dataset.KV[unshippedOrder, int64]
	first := dataset.TopN(sums, 10, func(a, b orderRevenue) bool {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Key.Date, b.Key.Date)) < 0
	})
	return dataset.Map(first, func(o orderRevenue) string {
		return fmt.Sprintf("%d|%s|%s|%d", o.Key.Key, decimal(o.Value, 4), o.Key.Date, o.Key.Priority)
	})
})

// discountedItem contains the columns of lineitem that Q6 reads.
type discountedItem struct {
	Price    int64 `parquet:"l_extendedprice,decimal(15,2)"`
	Discount int64 `parquet:"l_discount,decimal(15,2)"`
}

// forecastRevenue is Q6: the sum of the discounts of line items with discounts of 5 to 7
// percent and small quantities that were shipped in 1994.
var forecastRevenue = dataset.Define("forecast revenue", func(p *dataset.Plan, tables string) *dataset.Of[string] {
	items := lineItems[discountedItem](p, tables,
		parquet.Where("l_shipdate", parquet.GreaterOrEqual, parquet.NewDate(1994, time.January, 1)),
		parquet.Where("l_shipdate", parquet.Less, parquet.NewDate(1995, time.January, 1)),
		parquet.Where("l_discount", parquet.GreaterOrEqual, parquet.NewDecimal(5, 2)),
		parquet.Where("l_discount", parquet.LessOrEqual, parquet.NewDecimal(7, 2)),
		parquet.Where("l_quantity", parquet.Less, 24))
	discounts := dataset.Map(items, func(i discountedItem) int64 { return i.Price * i.Discount })
	sum := dataset.ReduceAll(discounts, func(a, b int64) int64 { return a + b })
	return dataset.Map(sum, func(sum int64) string { return decimal(sum, 4) })
})

// Columns that Q18 reads.
type (
	orderedItem struct {
		Order    int64 `parquet:"l_orderkey"`
		Quantity int64 `parquet:"l_quantity,decimal(15,2)"`
	}
	pricedOrder struct {
		Key      int64        `parquet:"o_orderkey"`
		Customer int64        `parquet:"o_custkey"`
		Date     parquet.Date `parquet:"o_orderdate"`
		Price    int64        `parquet:"o_totalprice,decimal(15,2)"`
	}
	namedCustomer struct {
		Key  int64  `parquet:"c_custkey"`
		Name string `parquet:"c_name"`
	}
)

// customerOrder is the key by which Q18 groups line items.
type customerOrder struct {
	Name          string
	Customer, Key int64
	Date          parquet.Date
	Price         int64
}

// largeOrders is Q18: the 100 most expensive orders among those with a total quantity of more
// than 300, and their customers.
var largeOrders = dataset.Define("large orders", func(p *dataset.Plan, tables string) *dataset.Of[string] {
	add := func(a, b int64) int64 { return a + b }
	quantities := dataset.MapKV(lineItems[orderedItem](p, tables), func(i orderedItem) (int64, int64) { return i.Order, i.Quantity })
	large := dataset.Filter(dataset.Reduce(quantities, add), func(o dataset.KV[int64, int64]) bool { return o.Value > 300_00 })
	all := dataset.KeyBy(orders[pricedOrder](p, tables), func(o pricedOrder) int64 { return o.Key })
	chosen := dataset.KeyBy(dataset.BroadcastJoin(all, large, func(_ int64, o pricedOrder, _ int64) pricedOrder { return o }),
		func(o pricedOrder) int64 { return o.Customer })
	names := dataset.MapKV(customers[namedCustomer](p, tables), func(c namedCustomer) (int64, string) { return c.Key, c.Name })
	named := dataset.KeyBy(dataset.BroadcastJoin(names, chosen, func(customer int64, name string, o pricedOrder) customerOrder {
		return customerOrder{name, customer, o.Key, o.Date, o.Price}
	}), func(o customerOrder) int64 { return o.Key })
	type orderQuantity = dataset.KV[customerOrder, int64]
	sums := dataset.Reduce(dataset.BroadcastJoin(quantities, named, func(_, quantity int64, o customerOrder) orderQuantity {
		return orderQuantity{Key: o, Value: quantity}
	}), add)
	first := dataset.TopN(sums, 100, func(a, b orderQuantity) bool {
		return cmp.Or(cmp.Compare(b.Key.Price, a.Key.Price), cmp.Compare(a.Key.Date, b.Key.Date)) < 0
	})
	return dataset.Map(first, func(o orderQuantity) string {
		return fmt.Sprintf("%s|%d|%d|%s|%s|%s", o.Key.Name, o.Key.Customer, o.Key.Key, o.Key.Date, decimal(o.Key.Price, 2), decimal(o.Value, 2))
	})
})
